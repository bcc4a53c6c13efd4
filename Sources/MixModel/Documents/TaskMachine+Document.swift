extension TaskMachine: DocumentWritable, Codable {
    public func write(to document: inout DocumentWriter) throws { try TaskDocument(self).write(to: &document) }

    public func encode(to encoder: any Encoder) throws { try TaskDocument(self).encode(to: encoder) }

    /// Reads a task from its stored form.
    ///
    /// Keys that its state does not use are ignored.
    ///
    /// - Throws: `DecodingError` for a document that is not a task's.
    public init(from decoder: any Decoder) throws { self.init(try TaskDocument(from: decoder)) }
}

// MARK: - Reading

extension TaskMachine {
    init(_ document: TaskDocument) {
        self.init(
            id: document.id, room: document.room, origin: Origin(document), state: State(document),
            revision: document.revision, sourceFacts: document.sourceFacts, deadlines: document.deadlines)
    }
}

extension TaskMachine.Origin {
    fileprivate init(_ document: TaskDocument) {
        guard let settings = document.settings else {
            self = .automatic
            return
        }
        self = .explicit(
            TaskMachine.Creation(
                settings: settings, version: document.settingsVersion, firstSettings: document.firstSettings,
                attachment: document.attachment, sawOpenRoom: document.sawOpenRoom ?? false,
                madeAt: document.madeAt))
    }
}

extension TaskMachine.State {
    fileprivate init(_ document: TaskDocument) {
        let relay = RelayRecord(
            failures: document.failedLaunches, connectedAt: document.connectedAt, causes: document.relayCauses)
        func onAir(_ stage: TaskMachine.OnAir.Stage) -> Self {
            let launches = RelayLaunches(relay, lastError: document.lastError, deadline: document.relaunchDeadline)
            var onAir = TaskMachine.OnAir(launches: launches)
            onAir.stage = stage
            onAir.program = document.plan.map { TaskMachine.ProgramInForce(plan: $0, host: document.host) }
            onAir.debounce = Debounce(document)
            onAir.idleDeadline = document.idleDeadline
            onAir.place = document.place
            return .onAir(onAir)
        }
        switch document.phase {
        case .waiting(let end):
            let refusal = end == .noCapacity ? document.refusal : nil
            self = .waiting(
                TaskMachine.Waiting(
                    reason: refusal.map { .refused($0) } ?? .ended(end), idleDeadline: document.idleDeadline,
                    lastRelay: relay))
        case .held(let user): self = .held(TaskMachine.Held(until: user, lastRelay: relay))
        case .starting: self = onAir(.starting)
        case .running: self = onAir(.running)
        case .recovering: self = onAir(.recovering)
        case .ending(let reason):
            self = .ending(
                TaskMachine.Ending(
                    reason: reason, host: document.host, lastError: document.lastError, lastRelay: relay))
        case .finished(let reason):
            self = .finished(
                TaskMachine.Finished(
                    reason: reason, at: document.finishedAt, refusal: document.refusal, lastRelay: relay))
        }
    }
}

extension Debounce {
    /// Reads the window. Changes that no deadline would plan are dropped: the first decision after a restart plans
    /// everything anyway.
    fileprivate init(_ document: TaskDocument) {
        self =
            switch (document.quietUntil, document.replanDeadline) {
            case (nil, _): .open
            case (let end?, let deadline?) where !document.pending.isEmpty:
                .holding(until: end, causes: document.pending, deadline: deadline)
            case (let end?, _): .quiet(until: end)
            }
    }
}

// MARK: - Writing

extension TaskDocument {
    init(_ task: TaskMachine) {
        self.init(id: task.id, room: task.room, phase: task.phase)
        revision = task.revision
        sourceFacts = task.sourceFacts
        deadlines = task.deadlines
        host = task.host
        lastError = task.lastError
        refusal = task.refusal
        finishedAt = task.finishedAt
        if case .explicit(let creation) = task.origin { add(creation) }
        add(task.lastRelay)
        switch task.state {
        case .waiting(let waiting): idleDeadline = waiting.idleDeadline
        case .onAir(let onAir): add(onAir)
        case .held, .ending, .finished: break
        }
    }

    private mutating func add(_ creation: TaskMachine.Creation) {
        settings = creation.settings
        settingsVersion = creation.version
        firstSettings = creation.firstSettings
        attachment = creation.attachment
        sawOpenRoom = creation.sawOpenRoom ? true : nil
        madeAt = creation.madeAt
    }

    private mutating func add(_ relay: RelayRecord) {
        failedLaunches = relay.failures
        connectedAt = relay.connectedAt
        relayCauses = relay.causes
    }

    private mutating func add(_ onAir: TaskMachine.OnAir) {
        plan = onAir.program?.plan
        relaunchDeadline = onAir.launches.deadline
        idleDeadline = onAir.idleDeadline
        place = onAir.place
        switch onAir.debounce {
        case .open: break
        case .quiet(let end): quietUntil = end
        case .holding(let end, let causes, let deadline):
            (quietUntil, pending, replanDeadline) = (end, causes, deadline)
        }
    }
}
