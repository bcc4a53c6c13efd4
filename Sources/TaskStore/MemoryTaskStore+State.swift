import MixModel
import TextFormats

extension MemoryTaskStore.State {
    /// Returns the key that identifies an event: app, source and id.
    static func key(_ event: RoomEvent) -> [UTF8Key] {
        [event.room.app.rawValue, event.source, event.id].map(UTF8Key.init)
    }

    /// Stores a change that has passed all checks.
    mutating func store(_ change: StoreChange, at time: Double) {
        if let event = change.event {
            known.insert(Self.key(event))
            events.append((event, time))
        }
        Self.write(change.room, id: \.id, to: &rooms)
        if case .delete(let id, _) = change.room { channels.forget(RoomID(id)) }
        for task in change.tasks {
            Self.write(task.write, id: \.id, to: &tasks)
            if case .delete = task.write { removedTasks[task.id] = time }
            if !task.timeline.isEmpty {
                timeline[task.id] = ((timeline[task.id] ?? []) + task.timeline).suffix(Retention.timelineEntries)
            }
            if !task.switches.isEmpty {
                switches[task.id] = ((switches[task.id] ?? []) + task.switches).suffix(Retention.switches)
            }
        }
        if let new = change.layoutVersion {
            let layout = new.version.layout
            layoutVersions[layout] = ((layoutVersions[layout] ?? []) + [new]).suffix(Retention.layoutVersions)
        }
        if let event = change.layoutEvent {
            layoutEvents[event.layout] = ((layoutEvents[event.layout] ?? []) + [event]).suffix(Retention.layoutEvents)
        }
        Self.write(change.subscription, id: \.id, to: &subscriptions)
        if case .delete(let id, _) = change.subscription { outbox.forgetWaiting(of: SubscriptionID(id)) }
        for message in change.outbox where subscriptions[message.subscription] != nil {
            outbox.append(message, at: time)
        }
    }

    private static func write<Document, ID: Identifier>(
        _ write: StoreChange.Write<Document>?, id: KeyPath<Document, ID>,
        to documents: inout [ID: Versioned<Document>]
    ) {
        switch write {
        case nil: return
        case .put(let document, let expected):
            documents[document[keyPath: id]] = Versioned(document, version: expected + 1)
        case .delete(let key, _):
            documents[ID(key)] = nil
        }
    }

    /// Removes the entries that `Retention` no longer keeps.
    ///
    /// - Returns: The number of removed entries. Of the events, one call removes at most `Retention.step`.
    mutating func removeExpired(_ retention: Retention, at time: Double) -> Int {
        var removed = 0
        let surplus = events.count - retention.events
        while removed < Retention.step, let oldest = events.first,
            oldest.at < time - retention.eventAge || removed < surplus
        {
            known.remove(Self.key(oldest.event))
            events.removeFirst()
            removed += 1
        }
        removed += outbox.removeExpired(retention, at: time)
        removed += channels.removeExpired(retention, at: time)
        for (task, _) in removedTasks.filter({ $0.value < time - retention.removedTaskAge }) {
            removedTasks[task] = nil
            removed += 1
            guard tasks[task] == nil else { continue }
            timeline[task] = nil
            switches[task] = nil
            leases.forget(task)
        }
        return removed
    }
}
