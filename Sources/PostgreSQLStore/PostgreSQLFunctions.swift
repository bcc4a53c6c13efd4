/// The functions that run on the server: a change costs one message in each direction, however many tables it affects.
enum PostgreSQLFunctions {
    /// Begins a group: records its number, so that a lost answer to its COMMIT can be looked up, and moves due times if
    /// the clock was set back. Returns the group's time in seconds since 1970.
    ///
    /// The time of the last group is recorded at most once a second, without waiting for other transactions.
    /// `begin_group_2` replaces it (`PostgreSQLSchema.fifth`); services of earlier releases call this one.
    static let beginGroup = """
        CREATE FUNCTION begin_group_1(p_now double precision, p_writer text, p_number bigint)
        RETURNS double precision LANGUAGE plpgsql AS $$
        DECLARE
            v_now double precision := coalesce(p_now, extract(epoch FROM clock_timestamp()));
            v_last double precision;
        BEGIN
            UPDATE commits SET number = p_number, at = v_now WHERE writer = p_writer;
            IF NOT FOUND THEN
                INSERT INTO commits (writer, number, at) VALUES (p_writer, p_number, v_now);
            END IF;
            SELECT last INTO v_last FROM clock;
            IF v_now < v_last - 1 THEN
                SELECT last INTO v_last FROM clock FOR UPDATE;
                IF v_now < v_last - 1 THEN
                    UPDATE outbox SET due = greatest(due - (v_last - v_now), v_now) WHERE due > v_now;
                    UPDATE nodes SET until = greatest(until - (v_last - v_now), v_now) WHERE until > v_now;
                    UPDATE clock SET last = v_now;
                END IF;
            ELSIF v_last IS NULL OR v_now > v_last + 1 THEN
                PERFORM 1 FROM clock FOR UPDATE SKIP LOCKED;
                IF FOUND THEN
                    UPDATE clock SET last = greatest(last, v_now);
                END IF;
            END IF;
            RETURN v_now;
        END $$;

        """

    /// Stores the whole change, or refuses it without a trace. All checks that can refuse it come before its first
    /// write; documents and leases that were checked are locked until the transaction ends.
    ///
    /// If another node's transaction makes a check invalid afterwards, an error is raised, and the change is retried
    /// alone.
    static let commitChange = """
        CREATE FUNCTION commit_change_1(
            p_now double precision,
            p_fence_tasks text[], p_fence_owners bigint[], p_fence_epochs bigint[],
            p_app text, p_source text, p_event text, p_event_room text, p_type text, p_event_document text,
            p_room text, p_room_expected bigint, p_room_document text, p_live integer, p_layout text,
            p_tasks text[], p_task_expected bigint[], p_task_documents text[], p_task_rooms text[],
            p_task_active bigint[],
            p_timeline_tasks text[], p_timeline text[], p_switch_tasks text[], p_switches text[],
            p_version_layout text, p_version bigint, p_version_document text, p_version_content bytea,
            p_news_layout text, p_news text,
            p_subscription text, p_subscription_expected bigint, p_subscription_document text,
            p_message_subscriptions text[], p_messages text[], p_lanes text[], p_topics text[], p_bodies bytea[]
        ) RETURNS text LANGUAGE plpgsql AS $$
        DECLARE
            v_now double precision := coalesce(p_now, extract(epoch FROM clock_timestamp()));
            v_found bigint;
            v_waits boolean;
        BEGIN
            FOR i IN 1 .. coalesce(cardinality(p_fence_tasks), 0) LOOP
                PERFORM 1 FROM leases
                WHERE task = p_fence_tasks[i] AND owner = p_fence_owners[i] AND epoch = p_fence_epochs[i] FOR SHARE;
                IF NOT FOUND THEN
                    RETURN 'fenced:' || p_fence_tasks[i];
                END IF;
            END LOOP;
            IF p_event IS NOT NULL THEN
                PERFORM 1 FROM events WHERE app = p_app AND source = p_source AND id = p_event;
                IF FOUND THEN
                    RETURN 'duplicate';
                END IF;
            END IF;
            FOR i IN 1 .. coalesce(cardinality(p_tasks), 0) LOOP
                SELECT version INTO v_found FROM tasks WHERE id = p_tasks[i] FOR UPDATE;
                IF coalesce(v_found, 0) <> p_task_expected[i] THEN
                    RETURN 'conflict:' || p_tasks[i];
                END IF;
            END LOOP;
            IF p_subscription IS NOT NULL THEN
                SELECT version INTO v_found FROM subscriptions WHERE id = p_subscription FOR UPDATE;
                IF coalesce(v_found, 0) <> p_subscription_expected THEN
                    RETURN 'conflict:' || p_subscription;
                END IF;
            END IF;
            IF p_version_layout IS NOT NULL THEN
                SELECT max(number) INTO v_found FROM layout_versions WHERE layout = p_version_layout;
                IF p_version <= coalesce(v_found, 0) THEN
                    RETURN 'conflict:layout ' || p_version_layout;
                END IF;
            END IF;

            IF p_room IS NOT NULL THEN
                IF p_room_document IS NULL THEN
                    DELETE FROM rooms WHERE id = p_room AND version = p_room_expected;
                ELSIF p_room_expected = 0 THEN
                    INSERT INTO rooms (id, version, document, live, layout)
                    VALUES (p_room, 1, p_room_document, p_live, p_layout) ON CONFLICT (id) DO NOTHING;
                ELSE
                    UPDATE rooms SET version = version + 1, document = p_room_document, live = p_live, layout = p_layout
                    WHERE id = p_room AND version = p_room_expected;
                END IF;
                IF NOT FOUND AND (p_room_document IS NOT NULL OR p_room_expected > 0
                    OR EXISTS (SELECT 1 FROM rooms WHERE id = p_room)) THEN
                    RETURN 'conflict:' || p_room;
                END IF;
            END IF;
            IF p_event IS NOT NULL THEN
                INSERT INTO events (app, source, id, room, type, document, at)
                VALUES (p_app, p_source, p_event, p_event_room, p_type, p_event_document, v_now)
                ON CONFLICT DO NOTHING;
                IF NOT FOUND THEN
                    RAISE EXCEPTION 'another node stored the event' USING ERRCODE = '40001';
                END IF;
            END IF;
            FOR i IN 1 .. coalesce(cardinality(p_tasks), 0) LOOP
                IF p_task_documents[i] IS NULL THEN
                    DELETE FROM tasks WHERE id = p_tasks[i];
                    INSERT INTO removed_tasks (task, at) VALUES (p_tasks[i], v_now)
                    ON CONFLICT (task) DO UPDATE SET at = excluded.at;
                ELSIF p_task_expected[i] = 0 THEN
                    INSERT INTO tasks (id, version, document, room, active)
                    VALUES (p_tasks[i], 1, p_task_documents[i], p_task_rooms[i], p_task_active[i]);
                ELSE
                    UPDATE tasks SET version = version + 1, document = p_task_documents[i], active = p_task_active[i]
                    WHERE id = p_tasks[i];
                END IF;
            END LOOP;
            FOR i IN 1 .. coalesce(cardinality(p_timeline_tasks), 0) LOOP
                INSERT INTO timeline (task, document) VALUES (p_timeline_tasks[i], p_timeline[i])
                RETURNING number INTO v_found;
                IF v_found % 64 = 0 THEN
                    DELETE FROM timeline WHERE task = p_timeline_tasks[i] AND number <= (
                        SELECT number FROM timeline WHERE task = p_timeline_tasks[i]
                        ORDER BY number DESC LIMIT 1 OFFSET \(Limits.timeline));
                END IF;
            END LOOP;
            FOR i IN 1 .. coalesce(cardinality(p_switch_tasks), 0) LOOP
                INSERT INTO switches (task, document) VALUES (p_switch_tasks[i], p_switches[i])
                RETURNING number INTO v_found;
                IF v_found % 64 = 0 THEN
                    DELETE FROM switches WHERE task = p_switch_tasks[i] AND number <= (
                        SELECT number FROM switches WHERE task = p_switch_tasks[i]
                        ORDER BY number DESC LIMIT 1 OFFSET \(Limits.switches));
                END IF;
            END LOOP;
            IF p_version_layout IS NOT NULL THEN
                INSERT INTO layout_versions (layout, number, document, content)
                VALUES (p_version_layout, p_version, p_version_document, p_version_content);
                DELETE FROM layout_versions WHERE layout = p_version_layout AND number <= (
                    SELECT number FROM layout_versions WHERE layout = p_version_layout
                    ORDER BY number DESC LIMIT 1 OFFSET \(Limits.layoutVersions));
            END IF;
            IF p_news_layout IS NOT NULL THEN
                INSERT INTO layout_events (layout, document) VALUES (p_news_layout, p_news)
                RETURNING number INTO v_found;
                IF v_found % 64 = 0 THEN
                    DELETE FROM layout_events WHERE layout = p_news_layout AND number <= (
                        SELECT number FROM layout_events WHERE layout = p_news_layout
                        ORDER BY number DESC LIMIT 1 OFFSET \(Limits.layoutEvents));
                END IF;
            END IF;
            IF p_subscription IS NOT NULL THEN
                IF p_subscription_document IS NULL THEN
                    DELETE FROM subscriptions WHERE id = p_subscription;
                    DELETE FROM outbox WHERE subscription = p_subscription AND settled IS NULL;
                ELSE
                    INSERT INTO subscriptions (id, version, document)
                    VALUES (p_subscription, p_subscription_expected + 1, p_subscription_document)
                    ON CONFLICT (id) DO UPDATE SET version = excluded.version, document = excluded.document;
                END IF;
            END IF;
            FOR i IN 1 .. coalesce(cardinality(p_messages), 0) LOOP
                -- Who settles the head of the lane at this moment waits for this transaction, or this one for that.
                PERFORM 1 FROM outbox
                WHERE subscription = p_message_subscriptions[i] AND lane = p_lanes[i] AND settled IS NULL
                ORDER BY number LIMIT 1 FOR SHARE;
                v_waits := FOUND;
                INSERT INTO outbox (subscription, id, lane, topic, body, queued, due)
                SELECT p_message_subscriptions[i], p_messages[i], p_lanes[i], p_topics[i], p_bodies[i], v_now,
                    CASE WHEN v_waits THEN NULL ELSE v_now END
                WHERE EXISTS (SELECT 1 FROM subscriptions WHERE id = p_message_subscriptions[i])
                ON CONFLICT DO NOTHING;
            END LOOP;
            RETURN 'committed';
        END $$;

        """

    /// The limits of `Retention` at the time when the function was written: a function never changes.
    private enum Limits {
        static let timeline = 1000
        static let switches = 200
        static let layoutVersions = 100
        static let layoutEvents = 200
    }
}
