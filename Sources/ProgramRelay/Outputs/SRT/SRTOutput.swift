import MixModel

/// SRT destinations: the program as MPEG-TS, its packets copied, sent by a process of its own.
enum SRTOutput: OutputKind {
    static let name = "SRT"
    static let scheme = "srt://"

    static func takes(_ plan: PushDestination) -> Bool { plan.url.lowercased().hasPrefix(scheme) }

    static func open(_ plan: PushDestination, in context: OutputContext) -> any ProgramOutput {
        DestinationOutput(
            plan, reach: context.reach, preamble: context.preamble,
            onChange: { [report = context.report] in report(.changed) },
            connect: { [worker = context.worker] url, limits, _ in
                try SRTConnection(url: url, limits: limits, worker: worker)
            })
    }
}
