CREATE TABLE mnemosyne.commits (
    repository integer NOT NULL,
    n bigint GENERATED ALWAYS AS IDENTITY,
    id bytea NOT NULL,
    made_by text COLLATE "C" NOT NULL,
    PRIMARY KEY (repository, n),
    UNIQUE (repository, id)
);

CREATE INDEX commits_of_transaction ON mnemosyne.commits (repository, made_by, n);

-- An index entry holds a third of a page at most, a key up to 4,096 bytes.
CREATE TABLE mnemosyne.touched (
    repository integer NOT NULL,
    key text COLLATE "C" NOT NULL,
    n bigint NOT NULL
);

CREATE INDEX touched_by_key ON mnemosyne.touched (repository, left(key, 256), n);
