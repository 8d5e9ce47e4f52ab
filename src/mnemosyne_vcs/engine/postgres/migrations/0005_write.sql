-- In functions, so that their plans are kept by the server: a write is then one short call, and no
-- client prepares anything in its session.

CREATE FUNCTION mnemosyne.enter(_repository integer, _patience text, _relaxed boolean, _alone boolean)
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    PERFORM set_config('lock_timeout', _patience, true);
    IF _relaxed THEN
        PERFORM set_config('synchronous_commit', 'off', true);
    ELSIF current_setting('synchronous_commit') = 'off' THEN
        PERFORM set_config('synchronous_commit', 'on', true);
    END IF;
    -- The first key spells 'mnem'.
    IF _alone THEN
        PERFORM pg_advisory_xact_lock(1835951469, _repository);
    ELSE
        PERFORM pg_advisory_xact_lock_shared(1835951469, _repository);
    END IF;
END
$$;

-- Moves a ref and stores what comes with it, if the ref is where it is expected; tells whether.
CREATE FUNCTION mnemosyne.write(
    _repository integer, _patience text, _relaxed boolean,
    _name bytea, _old bytea, _new bytea, _who bytea, _at bigint, _why bytea,
    _ids bytea[], _blocks bytea[], _commit bytea, _made_by text, _keys text[]
) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    _n bigint;
BEGIN
    PERFORM mnemosyne.enter(_repository, _patience, _relaxed, false);
    IF _old IS NOT NULL AND _new IS NOT NULL AND _new <> _old THEN
        UPDATE mnemosyne.refs SET target = _new
        WHERE repository = _repository AND name = _name AND target = _old;
    ELSIF _old IS NULL AND _new IS NOT NULL THEN
        INSERT INTO mnemosyne.refs (repository, name, target) VALUES (_repository, _name, _new)
        ON CONFLICT DO NOTHING;
    ELSIF _new IS NULL AND _old IS NOT NULL THEN
        DELETE FROM mnemosyne.refs
        WHERE repository = _repository AND name = _name AND target = _old;
    ELSIF _new = _old THEN
        PERFORM FROM mnemosyne.refs
        WHERE repository = _repository AND name = _name AND target = _old FOR SHARE;
    ELSE
        PERFORM WHERE NOT EXISTS (
            SELECT FROM mnemosyne.refs WHERE repository = _repository AND name = _name
        );
    END IF;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    INSERT INTO mnemosyne.objects (repository, id, data)
    SELECT _repository, id, data FROM unnest(_ids, _blocks) AS each (id, data)
    ON CONFLICT DO NOTHING;
    IF _new IS DISTINCT FROM _old THEN
        INSERT INTO mnemosyne.reflog (repository, name, old, new, who, at, why)
        VALUES (_repository, _name, _old, _new, _who, _at, _why);
    END IF;
    IF _commit IS NOT NULL THEN
        INSERT INTO mnemosyne.commits (repository, id, made_by)
        VALUES (_repository, _commit, _made_by) ON CONFLICT DO NOTHING RETURNING n INTO _n;
        IF FOUND THEN
            INSERT INTO mnemosyne.touched (repository, key, n)
            SELECT _repository, key, _n FROM unnest(_keys) AS each (key);
        END IF;
    END IF;
    RETURN true;
END
$$;
