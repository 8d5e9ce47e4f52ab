CREATE TABLE mnemosyne.repositories (
    id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name text COLLATE "C" NOT NULL UNIQUE
);

-- Rows up to a page stay whole and uncompressed: most blocks are hashes and floats.
CREATE TABLE mnemosyne.objects (
    repository integer NOT NULL,
    id bytea NOT NULL,
    data bytea NOT NULL,
    PRIMARY KEY (repository, id)
) WITH (toast_tuple_target = 8160);

-- Names are UTF-8 in bytea, which may hold any character and sorts bytewise.
CREATE TABLE mnemosyne.refs (
    repository integer NOT NULL,
    name bytea NOT NULL,
    target bytea NOT NULL,
    PRIMARY KEY (repository, name)
) WITH (fillfactor = 50);
