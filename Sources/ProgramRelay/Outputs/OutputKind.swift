import MixModel

/// A kind of output as a relay runs it.
///
/// A kind that is planned by a document of its own is the only one that takes it. Kinds of destinations share
/// `PushDestination` and take those whose scheme they speak.
protocol OutputKind: SendableMetatype {
    associatedtype Plan: OutputDocument

    /// Name of the kind in logs. Unique.
    static var name: String { get }

    /// Whether outputs with such a plan are of this kind; `true` unless the kind says otherwise.
    static func takes(_ plan: Plan) -> Bool

    /// Opens an output, which begins to work at once. Never waits, and never fails: an output that cannot work says so
    /// in its status.
    static func open(_ plan: Plan, in context: OutputContext) -> any ProgramOutput
}

extension OutputKind {
    static func takes(_ plan: Plan) -> Bool { true }

    fileprivate static func open(_ planned: PlannedOutput, in context: OutputContext) -> (any ProgramOutput)? {
        guard let plan = planned.document as? Plan, takes(plan) else { return nil }
        return open(plan, in: context)
    }
}

/// The kinds of outputs that a relay has.
enum OutputKinds {
    /// All of them. A new kind is one line here. The first kind that takes a plan opens it: RTMP is last, because it
    /// takes every destination and reports those that it cannot push to.
    static let all: [any OutputKind.Type] = [
        HLSOutput.self,
        RecordingOutput.self,
        SRTOutput.self,
        FileOutput.self,
        WHIPOutput.self,
        RTMPOutput.self,
    ]

    /// Opens a planned output. Returns `nil` if there is no such kind.
    static func open(_ planned: PlannedOutput, in context: OutputContext) -> (any ProgramOutput)? {
        for kind in all {
            if let output = kind.open(planned, in: context) { return output }
        }
        return nil
    }
}
