-- A branch whose vectors are searched by the server has a row here for as long as it exists. What is
-- indexed is the tree below the root, wherever the branch is.
CREATE TABLE mnemosyne.vector_indexes (
    repository integer NOT NULL,
    id integer GENERATED ALWAYS AS IDENTITY,
    ref bytea NOT NULL,
    root bytea NOT NULL,
    PRIMARY KEY (repository, id),
    UNIQUE (repository, ref),
    FOREIGN KEY (repository, ref) REFERENCES mnemosyne.refs (repository, name) ON DELETE CASCADE
);

-- The column `direction` is added with the extension. Rows up to a page stay whole.
CREATE TABLE mnemosyne.vectors (
    repository integer NOT NULL,
    branch integer NOT NULL,
    key text COLLATE "C" NOT NULL,
    name bytea NOT NULL,
    vector bytea NOT NULL,
    dimension integer NOT NULL,
    FOREIGN KEY (repository, branch) REFERENCES mnemosyne.vector_indexes (repository, id)
        ON DELETE CASCADE
) WITH (toast_tuple_target = 8160);

CREATE INDEX vectors_by_key ON mnemosyne.vectors (repository, branch, left(key, 256));
CREATE INDEX vectors_by_dimension
    ON mnemosyne.vectors (repository, branch, substring(name FOR 64), dimension);

-- Brings the extension, and what needs its type, in whatever schema it is. Indexes from before the
-- extension was dropped have lost what they are for.
CREATE FUNCTION mnemosyne.prepare_vectors() RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    _schema text;
BEGIN
    CREATE EXTENSION IF NOT EXISTS vector;
    SELECT nspname INTO _schema FROM pg_extension JOIN pg_namespace AS n ON n.oid = extnamespace
    WHERE extname = 'vector';
    DELETE FROM mnemosyne.vector_indexes;
    EXECUTE format('ALTER TABLE mnemosyne.vectors ADD COLUMN direction %I.vector', _schema);
    EXECUTE format(
        'CREATE FUNCTION mnemosyne.product(direction %1$I.vector, query real[]) RETURNS float8 '
        'LANGUAGE sql IMMUTABLE PARALLEL SAFE '
        'RETURN -(direction OPERATOR(%1$I.<#>) query::%1$I.vector)', _schema
    );
END
$$;

-- Moves an index from one root to another: the rows of some keys become those that are given. Rows
-- that are kept must be there. Tells whether it did; it does not wait for another who moves it.
CREATE FUNCTION mnemosyne.move_vectors(
    _repository integer, _ref bytea, _old bytea, _new bytea, _changed text[],
    _kept_keys text[], _kept_names bytea[], _kept_vectors bytea[],
    _keys text[], _names bytea[], _vectors bytea[], _dimensions integer[], _directions real[]
) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    _branch integer;
    _direction real[];
    _n integer := 0;
BEGIN
    SELECT id INTO _branch FROM mnemosyne.vector_indexes
    WHERE repository = _repository AND ref = _ref AND root = _old FOR NO KEY UPDATE SKIP LOCKED;
    IF NOT FOUND OR EXISTS (
        SELECT FROM unnest(_kept_keys, _kept_names, _kept_vectors) AS kept (key, name, vector)
        WHERE NOT EXISTS (
            SELECT FROM mnemosyne.vectors AS present
            WHERE repository = _repository AND branch = _branch
            AND left(present.key, 256) = left(kept.key, 256) AND present.key = kept.key
            AND present.name = kept.name AND present.vector = kept.vector
        )
    ) THEN
        RETURN false;
    END IF;
    UPDATE mnemosyne.vector_indexes SET root = _new WHERE repository = _repository AND id = _branch;
    DELETE FROM mnemosyne.vectors AS present
    WHERE repository = _repository AND branch = _branch
    AND left(key, 256) = ANY (ARRAY(SELECT left(each, 256) FROM unnest(_changed) AS each))
    AND key = ANY (_changed)
    AND NOT EXISTS (
        SELECT FROM unnest(_kept_keys, _kept_names, _kept_vectors) AS kept (key, name, vector)
        WHERE kept.key = present.key AND kept.name = present.name AND kept.vector = present.vector
    );
    IF cardinality(_keys) = 0 THEN
        RETURN true;
    END IF;
    FOREACH _direction SLICE 1 IN ARRAY _directions LOOP
        _n := _n + 1;
        INSERT INTO mnemosyne.vectors (repository, branch, key, name, vector, dimension, direction)
        VALUES (
            _repository, _branch, _keys[_n], _names[_n], _vectors[_n], _dimensions[_n],
            CASE WHEN _dimensions[_n] <= array_length(_direction, 1)
                THEN _direction[1:_dimensions[_n]] END
        );
    END LOOP;
    RETURN true;
END
$$;
