import MixModel
import TextFormats

extension RTMPOutput: ProgramOutput {
    /// Takes other limits on retries. Another URL is another output.
    func adopt(_ planned: PlannedOutput) -> Bool {
        guard let destination = planned.document as? PushDestination, destination.url.hasSameUTF8(as: url) else {
            return false
        }
        setRetry(destination.retry)
        return true
    }

    var statuses: [OutputStatus] { [OutputStatus(status)] }
}

extension RTMPOutput: OutputKind {
    static let name = "RTMP"

    static func open(_ plan: PushDestination, in context: OutputContext) -> any ProgramOutput {
        RTMPOutput(plan, reach: context.reach, preamble: context.preamble) { [report = context.report] in
            report(.changed)
        }
    }
}
