import EventSubscription
import MixModel
import RoomService

/// The actions of tasks: explicit tasks under the caller's names, which keep the caller's parameters.
package struct WireTasks: Sendable {
    let registry: RoomRegistry
    let reach: TaskParameters.Reach

    package init(registry: RoomRegistry, reach: TaskParameters.Reach) {
        self.registry = registry
        self.reach = reach
    }

    func start(_ call: WireCall) async throws -> [String: JSONValue] {
        let parameters = try TaskParameters(starting: call.parameters)
        let task = NewTask(
            id: try call.task(), settings: try parameters.settings(reach), attachment: try parameters.document())
        let room = try call.room()
        do throws(OrchestratorError) {
            _ = try await registry.owner(room).make(task, at: call.receivedAt)
        } catch  where error.code == "task-exists" {
            throw CallError.invalid(
                "TaskId", task.id.name,
                "an id that no running task has: stop that task with StopLiveMPUTask and wait a moment, change "
                    + "it with UpdateLiveMPUTask, or choose another id")
        }
        return [:]
    }

    func update(_ call: WireCall) async throws -> [String: JSONValue] {
        let room = try call.room()
        let task = try call.task()
        guard try await known(task) == room else {
            throw CallError.invalid("ChannelId", room.name, "the channel that the task \(task.name) was started for")
        }
        try await revise(call, task, room) { [parameters = call.parameters] old throws(CallError) in
            try old.updated(with: parameters)
        }
        return [:]
    }

    func setSEI(_ call: WireCall) async throws -> [String: JSONValue] {
        let task = try call.task()
        let text = try call.parameters.required("CustomSei", "the text to send, JSON of at most 4096 characters")
        guard text.unicodeScalars.count <= SEISettings.longestText else {
            throw CallError.invalid(
                "CustomSei", "\(text.unicodeScalars.count) characters; expected at most \(SEISettings.longestText)")
        }
        guard (try? JSONValue(parsing: text.utf8)) != nil else {
            throw CallError.invalid("CustomSei", text, "JSON")
        }
        try await revise(call, task, try await known(task)) { old throws(CallError) in old.withCustomSEI(text) }
        return [:]
    }

    func stop(_ call: WireCall) async throws -> [String: JSONValue] {
        let task = try call.task()
        let room = try await known(task)
        guard let owner = try await registry.existingOwner(room), await owner.snapshot.wireParameters(of: task) != nil,
            try await owner.stopTask(task, at: call.receivedAt)
        else { throw Self.unknown(task) }
        return [:]
    }

    /// Lists one task, or one page of all tasks.
    func list(_ call: WireCall) async throws -> [String: JSONValue] {
        if call.parameters["TaskId"] != nil {
            let task = try call.task()
            let parameters = try await registry.snapshot(of: task)?.wireParameters(of: task)
            return ["MPUTasks": .array([parameters].compactMap { $0?.answer })]
        }
        let number = try call.parameters.requiredInteger("PageNo", in: 1...Self.mostPages)
        let size = try call.parameters.requiredInteger("PageSize", in: 1...100)
        var skipped = (number - 1) * size
        var page: [JSONValue] = []
        for task in registry.services.taskIndex.tasks(of: call.app) where page.count < size {
            // Rooms of other nodes are shown as stored.
            guard let room = registry.services.taskIndex.room(of: task),
                let parameters = try await registry.shownState(of: room)?.wireParameters(of: task)
            else { continue }
            if skipped > 0 { skipped -= 1 } else { page.append(parameters.answer) }
        }
        return ["MPUTasks": .array(page)]
    }

    private static let mostPages = 1_000_000

    // MARK: Finding

    private func known(_ task: TaskID) async throws -> RoomID {
        guard let room = try await registry.roomOfExplicit(task) else { throw Self.unknown(task) }
        return room
    }

    private static func unknown(_ task: TaskID) -> CallError {
        .invalid("TaskId", task.name, "a task that was started with StartLiveMPUTask and has not ended")
    }

    private func revise(
        _ call: WireCall, _ task: TaskID, _ room: RoomID,
        _ change: @escaping @Sendable (TaskParameters) throws(CallError) -> TaskParameters
    ) async throws {
        guard let owner = try await registry.existingOwner(room) else { throw Self.unknown(task) }
        // The owner calls this closure when it is the task's turn. The `CallError` must not be replaced by the
        // service's own.
        let failure = LockedFailure()
        let revision = SettingsChange(task: task, summary: "\(call.action) by API") {
            [reach] settings, attachment throws(OrchestratorError) in
            do throws(CallError) {
                guard let attachment, let old = TaskParameters(document: attachment) else { throw Self.unknown(task) }
                let new = try change(old)
                return (try new.settings(reach, replacing: settings), try new.document())
            } catch {
                throw failure.keep(error)
            }
        }
        do {
            _ = try await owner.configure(revision, at: call.receivedAt)
        } catch {
            throw failure.kept ?? error
        }
    }
}

extension RoomState {
    /// Returns the task's latest parameters. `nil` if no task of this interface has the id, or if the task is ending.
    fileprivate func wireParameters(of id: TaskID) -> TaskParameters? {
        guard let machine = task(id)?.machine.document, !machine.isFinishing, let document = machine.attachment else {
            return nil
        }
        return TaskParameters(document: document)
    }
}
