import MixModel

/// Players of programs.
extension IngestWorker {
    /// Lets a client play the room's program that it asks for, or the room's first one.
    func watch(_ request: IngestRequest, _ room: RoomID, _ asked: TaskID?) async {
        let process = process
        do throws(OrchestratorError) {
            let programs = configuration.programs
            let state = try await programs == nil ? registry.snapshot(room) : registry.shownState(of: room)
            guard process == self.process else { return }
            let tasks = state?.tasksToWatch ?? []
            guard let task = asked == nil ? tasks.first : tasks.first(where: { $0 == asked }) else {
                return refuse(
                    request, isName: true, "the room has no program at the moment",
                    logged: "the room has no program")
            }
            try registry.services.viewers.enterElsewhere(task)
            send(
                .allowProgram(
                    request: request.request, session: request.session, task: task.rawValue,
                    socket: registry.services.sockets.path(of: task), detour: programs?.detour(to: task, of: room)))
        } catch {
            if error.kind == .unavailable { registry.services.metrics.count(.viewersRefused) }
            refuse(request, isName: false, "\(error.title): \(error.detail)", logged: error.title)
        }
    }
}
