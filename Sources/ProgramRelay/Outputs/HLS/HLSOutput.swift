import Foundation
import Logging
import MediaFormats
import MixModel
import ProgramSplicer
import Synchronization

/// The HLS output of a relay's program: the packager's process and its newest status.
final class HLSOutput: ProgramOutput {
    private let plan: PlannedHLS
    private let consumer: ProgramConsumer<PlannedHLS, HLSStatus>
    private let told: Mutex<HLSStatus>

    /// Starts the packager's process.
    init(_ plan: PlannedHLS, in context: OutputContext) {
        let logger = context.logger
        self.plan = plan
        let events = EventSlot()
        told = Mutex(HLSStatus())
        consumer = ProgramConsumer(
            worker: context.worker, subcommand: "packager", settings: plan, preamble: context.preamble,
            label: "relay.packager",
            onEvent: { events.take($0) })
        events.handle { [weak self] event in
            guard let self else { return }
            switch event {
            case .started(let processID): logger.info("packager \(processID) started")
            case .ended: logger.info("packager ended")
            case .report(let status): told.withLock { $0 = status }
            case .failed(let reason, _):
                logger.warning("packager: \(reason)")
                told.withLock { status in
                    status.service = ServiceState(
                        running: false,
                        error: ServiceState.Failure(
                            code: "packager_failed", message: "the packager \(reason); it is being restarted"))
                }
            }
            context.report(.changed)
        }
        consumer.tick()
    }

    var statuses: [OutputStatus] { [OutputStatus(told.withLock { $0 })] }

    /// Accepts only the same plan: playlists with other settings are other sessions.
    func adopt(_ planned: PlannedOutput) -> Bool { planned.document as? PlannedHLS == plan }

    func send(shared tags: [OutputTag]) { consumer.send(shared: tags) }
    var needsTicks: Bool { true }
    func tick() { consumer.tick() }

    /// Waits until the playlists are closed. The packager is killed after 10 s.
    func close() async { await consumer.end(within: 10) }

    private typealias Event = ProgramConsumer<PlannedHLS, HLSStatus>.Event

    /// Passes a consumer's events to its owner, whose initialisation ends after the consumer's.
    private final class EventSlot: Sendable {
        private let body = Mutex<(@Sendable (Event) -> Void)?>(nil)

        func handle(_ body: @escaping @Sendable (Event) -> Void) { self.body.withLock { $0 = body } }
        func take(_ event: Event) { body.withLock { $0 }?(event) }
    }
}

extension HLSOutput: OutputKind {
    static let name = "HLS"

    static func open(_ plan: PlannedHLS, in context: OutputContext) -> any ProgramOutput {
        HLSOutput(plan, in: context)
    }
}
