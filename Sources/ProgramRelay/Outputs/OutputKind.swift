import MixModel

/// A kind of output in a relay.
///
/// A kind with its own plan document is the only one that accepts it. Kinds of destinations share `PushDestination` and
/// accept those whose scheme they support.
protocol OutputKind: SendableMetatype {
    associatedtype Plan: OutputDocument

    /// Name of the kind in logs. Unique.
    static var name: String { get }

    /// Returns whether outputs with this plan are of this kind; `true` by default.
    static func takes(_ plan: Plan) -> Bool

    /// Opens an output, which begins to work at once. Never waits, and never fails: an output that cannot work reports
    /// that in its status.
    static func open(_ plan: Plan, in context: OutputContext) -> any ProgramOutput
}

extension OutputKind {
    static func takes(_ plan: Plan) -> Bool { true }

    fileprivate static func open(_ planned: PlannedOutput, in context: OutputContext) -> (any ProgramOutput)? {
        guard let plan = planned.document as? Plan, takes(plan) else { return nil }
        return open(plan, in: context)
    }
}

/// The kinds of outputs that relays support.
enum OutputKinds {
    /// All kinds. A new kind is one line here. The first kind that accepts a plan opens it: RTMP is last, because it
    /// accepts every destination and reports those to which it cannot push.
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
