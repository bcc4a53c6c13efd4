/// The stored form of a task: the keys of all origins and states side by side, whichever state the task is in.
///
/// Stores of every version have this form, so keys are added but neither renamed nor nested. A key that has no meaning
/// in a task's state is left out; found in a document, it is ignored.
struct TaskDocument: Hashable, Codable {
    var id: TaskID
    var room: RoomID

    // Explicit tasks.
    var settings: RoomSettings?
    var settingsVersion: Int64?
    var firstSettings: RoomSettings?
    var attachment: String?
    var sawOpenRoom: Bool?
    var madeAt: Double?

    var finishedAt: Double?
    var phase: TaskMachine.Phase

    // The program.
    var plan: ProgramPlan?
    var revision = 0
    var host: UserID?
    var sourceFacts: SourceFacts?
    var lastError: String?
    var refusal: AdmissionRefusal?

    // The debounce window.
    var quietUntil: Int64?
    var pending: [Cause] = []
    var replanDeadline: Int?

    // Deadlines, and the relay.
    var idleDeadline: Int?
    var relaunchDeadline: Int?
    var deadlines = 0
    var failedLaunches = 0
    var connectedAt: Int64?
    var relayCauses: [CauseID]?
    /// The position of the stream on the clock.
    var place: ProgramPlace?
}

extension TaskDocument: DocumentWritable {
    func write(to document: inout DocumentWriter) throws {
        try document.object { task in
            task.field("id", id.rawValue)
            task.field("room", room.rawValue)
            try task.field("settings", ifPresent: settings)
            task.field("settingsVersion", ifPresent: settingsVersion)
            try task.field("firstSettings", ifPresent: firstSettings)
            task.field("attachment", ifPresent: attachment)
            task.field("sawOpenRoom", ifPresent: sawOpenRoom)
            try task.field("madeAt", ifPresent: madeAt)
            try task.field("finishedAt", ifPresent: finishedAt)
            try task.field("phase", phase)
            try task.field("plan", ifPresent: plan)
            task.field("revision", revision)
            task.field("host", ifPresent: host?.rawValue)
            try task.field("sourceFacts", encoding: sourceFacts)
            task.field("lastError", ifPresent: lastError)
            try task.field("refusal", encoding: refusal)
            task.field("quietUntil", ifPresent: quietUntil)
            try task.field("pending", pending)
            task.field("replanDeadline", ifPresent: replanDeadline)
            task.field("idleDeadline", ifPresent: idleDeadline)
            task.field("relaunchDeadline", ifPresent: relaunchDeadline)
            task.field("deadlines", deadlines)
            task.field("failedLaunches", failedLaunches)
            task.field("connectedAt", ifPresent: connectedAt)
            task.field("relayCauses", ifPresent: relayCauses)
            try task.field("place", encoding: place)
        }
    }
}

extension TaskMachine.Phase: DocumentWritable {
    public func write(to document: inout DocumentWriter) {
        document.object { phase in
            switch self {
            case .waiting(let reason): phase.values(of: "waiting") { $0.field("after", ifPresent: reason?.rawValue) }
            case .held(let user): phase.values(of: "held") { $0.field("until", ifPresent: user?.rawValue) }
            case .starting: phase.values(of: "starting")
            case .running: phase.values(of: "running")
            case .recovering: phase.values(of: "recovering")
            case .ending(let reason): phase.values(of: "ending") { $0.field("_0", reason.rawValue) }
            case .finished(let reason): phase.values(of: "finished") { $0.field("_0", reason.rawValue) }
            }
        }
    }
}

extension Cause: DocumentWritable {
    public func write(to document: inout DocumentWriter) {
        document.object { cause in
            cause.field("receivedAt", receivedAt)
            cause.field("summary", summary)
            cause.field("id", ifPresent: id?.rawValue)
        }
    }
}
