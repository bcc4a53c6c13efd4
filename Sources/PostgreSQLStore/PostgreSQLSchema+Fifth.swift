extension PostgreSQLSchema {
    /// Steps forward of the server's clock, which writers recognise by their own clocks.
    static let fifth = "ALTER TABLE commits ADD COLUMN elapsed double precision;\n" + beginGroup

    /// Begins a group as `begin_group_1` does, and extends leases if the server's clock was set forward: relays hold
    /// deadlines that do not move with it. `p_elapsed` is the writer's own clock, in seconds; NULL = no such clock.
    ///
    /// The server's clock was set forward if it went ahead of the writer's between two of the writer's groups, and if no
    /// other writer has recorded a time since: the first one extends the leases, the others find the time recorded. A
    /// server that stalled looks the same. Leases then end later, never earlier. A writer without an earlier group
    /// records no time, because it cannot tell a step from a pause in which nothing was written.
    private static let beginGroup = """
        CREATE FUNCTION begin_group_2(
            p_now double precision, p_writer text, p_number bigint, p_elapsed double precision
        ) RETURNS double precision LANGUAGE plpgsql AS $$
        DECLARE
            v_now double precision := coalesce(p_now, extract(epoch FROM clock_timestamp()));
            v_last double precision;
            v_step double precision;
        BEGIN
            UPDATE commits SET number = p_number, at = v_now, elapsed = p_elapsed
            FROM (SELECT at, elapsed FROM commits WHERE writer = p_writer) AS earlier
            WHERE commits.writer = p_writer
            RETURNING (v_now - earlier.at) - (p_elapsed - earlier.elapsed) INTO v_step;
            IF NOT FOUND THEN
                INSERT INTO commits (writer, number, at, elapsed) VALUES (p_writer, p_number, v_now, p_elapsed);
            END IF;
            SELECT last INTO v_last FROM clock;
            IF v_now < v_last - 1 THEN
                SELECT last INTO v_last FROM clock FOR UPDATE;
                IF v_now < v_last - 1 THEN
                    UPDATE outbox SET due = greatest(due - (v_last - v_now), v_now) WHERE due > v_now;
                    UPDATE nodes SET until = greatest(until - (v_last - v_now), v_now) WHERE until > v_now;
                    UPDATE clock SET last = v_now;
                END IF;
            ELSIF v_step > 1 AND v_now > v_last + 1 THEN
                SELECT last INTO v_last FROM clock FOR UPDATE;
                v_step := least(v_step, v_now - v_last);
                IF v_step > 1 THEN
                    UPDATE nodes SET until = until + v_step WHERE until > v_last;
                    UPDATE clock SET last = v_now;
                END IF;
            ELSIF v_last IS NULL OR (v_now > v_last + 1 AND (p_elapsed IS NULL OR v_step IS NOT NULL)) THEN
                PERFORM 1 FROM clock FOR UPDATE SKIP LOCKED;
                IF FOUND THEN
                    UPDATE clock SET last = greatest(last, v_now);
                END IF;
            END IF;
            RETURN v_now;
        END $$;

        """
}
