CREATE TABLE mnemosyne.settings (
    repository integer NOT NULL,
    name bytea NOT NULL,
    value bytea NOT NULL,
    PRIMARY KEY (repository, name)
);
