CREATE TABLE mnemosyne.reflog (
    repository integer NOT NULL,
    n bigint GENERATED ALWAYS AS IDENTITY,
    name bytea NOT NULL,
    old bytea,
    new bytea,
    who bytea NOT NULL,
    at bigint NOT NULL,
    why bytea NOT NULL,
    PRIMARY KEY (repository, n)
);

CREATE INDEX reflog_of_name ON mnemosyne.reflog (repository, name, n);
