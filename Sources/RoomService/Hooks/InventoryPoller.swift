import EncodedMedia
import EventSubscription
import Logging
import MixModel
import ServiceLifecycle

/// Reads the statistics of media servers that do not repeat failed calls: at the start and periodically. Events that
/// were not reported, or whose report failed, are processed like reported ones.
package struct InventoryPoller: Service {
    private let rules: HookRules
    private let parser: EventParser
    private let intake: HookIntake
    private let registry: RoomRegistry
    private let metrics: Metrics
    private let logger: Logger
    private let fetch = InventoryFetch()

    /// Delay after a failed reading, until the first one has succeeded.
    static let firstRetry: Duration = .seconds(1)

    package init(
        rules: HookRules, parser: EventParser, intake: HookIntake, registry: RoomRegistry, metrics: Metrics,
        logger: Logger
    ) {
        self.rules = rules
        self.parser = parser
        self.intake = intake
        self.registry = registry
        self.metrics = metrics
        self.logger = logger
    }

    package func run() async throws {
        await withDiscardingTaskGroup { group in
            for (hook, settings) in rules.settings {
                guard let poll = settings.poll, let inventory = StreamInventories.of(hook) else { continue }
                group.addTask {
                    await Reading(poller: self, inventory: inventory, settings: settings, poll: poll).run()
                }
            }
            // If a service returned, the whole group would stop.
            try? await gracefulShutdown()
        }
    }

    /// The periodic readings of one hook's servers.
    private struct Reading {
        let poller: InventoryPoller
        let inventory: any StreamInventory
        let settings: HookSettings
        let poll: HookPoll
        /// Whether streams from before the start have been compared.
        private var hasCompared = false
        private var wasReadable = true

        init(poller: InventoryPoller, inventory: any StreamInventory, settings: HookSettings, poll: HookPoll) {
            self.poller = poller
            self.inventory = inventory
            self.settings = settings
            self.poll = poll
        }

        func run() async {
            var reading = self
            var pause = Duration.zero
            while (try? await cancelWhenGracefulShutdown({ [pause] in try await Task.sleep(for: pause) })) != nil {
                await reading.readOnce()
                pause = reading.hasCompared ? .seconds(poll.seconds) : InventoryPoller.firstRetry
            }
        }

        private mutating func readOnce() async {
            let askedAt = MonotonicClock.now()
            var streams: [MediaServerStream] = []
            for url in poll.urls {
                do {
                    streams += try await poller.fetch.streams(of: inventory, at: url, credentials: poll.credentials)
                } catch {
                    // An incomplete list would take the missing server's publishers off the air.
                    note(failure: error, url)
                    return
                }
            }
            poller.metrics.count(.hookPolls, inventory.hook, "read")
            if !wasReadable {
                poller.logger.notice("the statistics of \(inventory.hook) can be read again")
                wasReadable = true
            }
            do {
                try await compare(streams, askedAt)
            } catch {
                poller.logger.warning("streams of \(inventory.hook) could not be compared: \(error.title)")
            }
        }

        private mutating func note(failure: InventoryFetch.Failure, _ url: StreamURL) {
            poller.metrics.count(.hookPolls, inventory.hook, "failed")
            guard wasReadable else { return }
            wasReadable = false
            poller.logger.warning(
                "the statistics of \(inventory.hook) cannot be read: \(failure.reason)",
                metadata: ["hook": "\(inventory.hook)", "url": "\(url.redacted)"])
        }

        private mutating func compare(
            _ streams: [MediaServerStream], _ askedAt: Int64
        ) async throws(OrchestratorError) {
            let reader = HookReader(settings: settings, parser: poller.parser)
            let listed = streams.flatMap { stream in
                var stream = stream
                stream.session = stream.session ?? ""
                return reader.outcome("poll", .informative, .continues, of: stream).events
            }
            let stored = hasCompared ? [] : try await storedStreams()
            let corrections = poller.intake.corrections(
                listed: listed, stored: stored, of: inventory.hook, askedAt: askedAt)
            var failure: OrchestratorError?
            for correction in corrections {
                let result = await poller.intake.take(
                    [correction.event], of: inventory.hook, peer: correction.peer, at: MonotonicClock.now())
                switch result {
                case .accepted: count(correction.event)
                case .repeated: break
                // The node that has the room reads the same statistics.
                case .failed(let error) where error.code == "room-elsewhere": break
                case .failed(let error): if error.isFault { failure = error }
                }
            }
            if let failure { throw failure }
            hasCompared = true
        }

        private func count(_ event: HookEvent) {
            let isBeginning = if case .streamPublished = event.kind { true } else { false }
            poller.metrics.count(.hookCorrections, inventory.hook, isBeginning ? "began" : "ended")
            poller.logger.notice(
                "a stream of \(inventory.hook) \(isBeginning ? "began" : "ended") unreported",
                metadata: ["room": "\(event.room)"])
        }

        /// Returns the streams in rooms that came through the hook.
        private func storedStreams() async throws(OrchestratorError) -> [(
            room: RoomID, user: UserID, stream: StreamKind
        )] {
            let source = "/v1/hooks/\(inventory.hook)"
            var found: [(room: RoomID, user: UserID, stream: StreamKind)] = []
            try await poller.registry.forEachRoom { room in
                for stream in room.streams {
                    guard let reporter = room.reporter(of: stream.id),
                        reporter.hasSameUTF8(as: source) || reporter.hasPrefix("\(source)#")
                    else { continue }
                    found.append((room.id, stream.user, stream.stream.kind))
                }
            }
            return found
        }
    }
}
