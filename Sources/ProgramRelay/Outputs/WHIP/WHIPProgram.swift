import EncodedMedia
import Foundation
import MediaFormats
import MixModel
import RTMP
import Synchronization
import TextFormats

/// The body of `mixworker push` for WHIP: sends a program, which arrives as FLV, to a server over WebRTC (RFC 9725).
///
/// `WHIPSession` decides. A single loop handles all events and performs its actions; only the program's media bypasses
/// it.
public final class WHIPProgram: Sendable {
    /// Creates the WebRTC side.
    package typealias MakeMedia = @Sendable (_ onEvent: @escaping @Sendable (WHIPMediaEvent) -> Void) -> any WHIPMedia

    private enum Event: Sendable {
        case tick
        case inputEnded
        /// The tracks of the program, known with its first frame.
        case tracks(WHIPTracks)
        case located(Result<[String], OutputFault>)
        case media(WHIPMediaEvent)
        case answered(Result<WHIPResponse, OutputFault>)
        case broken(OutputFault)
    }

    private struct Counts {
        var read: Int64 = 0
        var taken: Int64 = 0
        var reported: Int64 = 0
        /// Whether the relay is gone, so that nothing more may be sent.
        var isAbandoned = false
    }

    private static let interval = Duration.milliseconds(50)
    /// Longest wait in seconds without a byte of a response, and for the request that ends the session.
    private static let patience = 5
    private static let farewell = 1
    /// Longest wait in ns for an outstanding response after the end, so that a session that it creates can be ended.
    /// With `farewell`, less than the 2 s after which the relay kills this process.
    package static let lateResponse: Int64 = 800_000_000

    private let address: WHIPAddress
    private let limits: Destination.Limits?
    private let lateResponse: Int64
    private let media: any WHIPMedia
    private let report: @Sendable ([UInt8]) -> Void
    private let redaction: URLRedaction
    private let counts = Mutex(Counts())
    private let events: AsyncStream<Event>
    private let inbox: AsyncStream<Event>.Continuation

    /// Returns whether the URL of these settings is a WHIP URL.
    package static func takes(_ settings: [UInt8]) -> Bool {
        guard let settings = try? JSONDecoder().decode(PushSettings.self, from: Data(settings)) else { return false }
        return (try? WHIPAddress(settings.url)) != nil
    }

    /// - Parameters:
    ///   - settings: The first line that the relay sent.
    ///   - report: Called with lines for the relay.
    ///   - lateResponse: Longest wait for an outstanding response after the end, in ns.
    /// - Throws: An error without secrets if no connection can be made.
    package init(
        settings: [UInt8], report: @escaping @Sendable ([UInt8]) -> Void,
        lateResponse: Int64 = WHIPProgram.lateResponse, media make: MakeMedia
    ) throws {
        self.lateResponse = lateResponse
        let settings = try JSONDecoder().decode(PushSettings.self, from: Data(settings))
        address = try WHIPAddress(settings.url)
        limits = settings.reach.map { Destination.Limits(reach: $0, setting: "outputs.allow") }
        redaction = URLRedaction(settings.url)
        self.report = report
        // Few events occur besides ticks, and none of them is lost.
        let (events, inbox) = AsyncStream.makeStream(of: Event.self, bufferingPolicy: .bufferingOldest(1024))
        (self.events, self.inbox) = (events, inbox)
        media = make { inbox.yield(.media($0)) }
    }

    /// Connects, and sends the program until it ends or the connection fails. Reports to the relay how much is sent.
    ///
    /// - Parameter read: Returns the next bytes of the program, `nil` at its end. It may block; called on a separate
    ///   thread.
    package func run(reading read: @escaping @Sendable () -> [UInt8]?) async {
        Thread.detachNewThread { [self] in
            var reader = WHIPProgramReader()
            do throws(OutputFault) {
                while let bytes = read() { try push(bytes, &reader) }
                inbox.yield(.inputEnded)
            } catch {
                inbox.yield(.broken(error))
                // The relay does not wait for a process that does not read.
                while read() != nil {}
            }
        }
        var session = WHIPSession(address)
        await withTaskGroup(of: Void.self) { group in
            group.addTask { [inbox] in
                while !Task.isCancelled {
                    inbox.yield(.tick)
                    try? await Task.sleep(for: Self.interval)
                }
            }
            group.addTask { [self] in inbox.yield(.located(await locate())) }
            await work(&session, &group)
            group.cancelAll()
        }
        tellTaken()
        // Sent before the relay learns of the failure, because it then ends this process and begins the next session.
        if let farewell = session.farewell { _ = await send(farewell, patience: Self.farewell) }
        if let fault = session.fault {
            tell(.failed(isRefusal: fault.nature == .refusal, words: clean(fault.words), code: fault.code))
        }
        await media.close()
    }

    /// Makes `run` end the session and return soon, without sending what waits, because the relay is gone and another one
    /// may send the program. May be called from any thread.
    package func abandon() {
        counts.withLock { $0.isAbandoned = true }
        inbox.yield(.inputEnded)
    }

    /// Handles events until the session is over or the program has ended, and no response is outstanding.
    private func work(_ session: inout WHIPSession, _ group: inout TaskGroup<Void>) async {
        var tracks: WHIPTracks?
        var addresses: [String]?
        var hasOffered = false
        var end: Int64?
        for await event in events {
            let now = MonotonicClock.now()
            let actions: [WHIPSession.Action]
            switch event {
            case .inputEnded:
                session.leave()
                actions = []
            case .tick:
                tellTaken()
                actions = session.tick(heard: media.lastHeard, now: now)
            case .tracks(let found):
                tracks = found
                actions = []
            case .located(.success(let found)):
                addresses = found
                actions = []
            case .located(.failure(let fault)), .broken(let fault): actions = session.failed(fault)
            case .answered(.failure(let fault)): actions = session.unanswered(fault)
            case .answered(.success(let response)): actions = session.answered(response, now: now)
            case .media(.offered(let offer)):
                actions = session.offered(
                    tracks.map { WHIPOffer.text(of: offer, for: $0) } ?? offer, hasVideo: tracks?.video != nil)
            case .media(.connected): actions = session.connected(now: now)
            case .media(.ended(let reason)): actions = session.lost(reason)
            case .media(.keyframeRequested):
                tell(.keyframeWanted)
                actions = []
            }
            if let tracks, let addresses, !hasOffered {
                hasOffered = true
                media.offer(video: tracks.video, hasAudio: tracks.hasAudio, addresses: addresses)
            }
            for action in actions { perform(action, &group) }
            guard session.isOver else { continue }
            let latest = end ?? now.saturatingSum(lateResponse)
            end = latest
            if !session.isAwaited || now >= latest { return }
        }
    }

    private func perform(_ action: WHIPSession.Action, _ group: inout TaskGroup<Void>) {
        switch action {
        case .send(let request):
            group.addTask { [self] in inbox.yield(.answered(await send(request, patience: Self.patience))) }
        case .accept(let answer): media.accept(answer.text { isAllowed($0) })
        case .begin: tell(.connected)
        }
    }

    // MARK: - The program

    /// Forwards the next bytes of the program. Called on one thread.
    private func push(_ bytes: [UInt8], _ reader: inout WHIPProgramReader) throws(OutputFault) {
        let count = Int64(bytes.count)
        let read = counts.withLock { counts -> Int64? in
            counts.read += count
            return counts.isAbandoned ? nil : counts.read
        }
        guard let read else { return }
        let knew = reader.tracks != nil
        let items = try reader.push(bytes)
        if !knew, let tracks = reader.tracks { inbox.yield(.tracks(tracks)) }
        media.take(items) { [self] in counts.withLock { $0.taken = max($0.taken, read) } }
    }

    private func tellTaken() {
        let news = counts.withLock { counts -> Int64? in
            // The relay does not count the FLV header.
            let taken = max(0, counts.taken - Int64(FLVTag.fileHeader.count))
            guard taken > counts.reported else { return nil }
            counts.reported = taken
            return taken
        }
        if let news { tell(.taken(bytes: news)) }
    }

    // MARK: - The server

    /// Returns the addresses of this machine from which to reach the server: empty unless the server is on this
    /// machine. In that case it may listen on loopback, or on the addresses used for other machines.
    private func locate() async -> Result<[String], OutputFault> {
        guard let destination = address.destination(limits) else {
            return .failure(OutputFault(.badURL, "the URL has no host"))
        }
        do throws(Destination.Unreachable) {
            let found = try await destination.check(within: .seconds(Self.patience))
            guard let found, found.isLoopback else { return .success([]) }
            // Addresses for documentation (RFC 5737, RFC 3849), which are remote from any machine.
            let others = ["203.0.113.1", "2001:db8::1"].compactMap { SocketAddress.local(towards: $0, port: 9) }
            return .success(([found] + others.filter { !$0.isLoopback && $0 != found }).map { "\($0)" })
        } catch {
            return .failure(OutputFault(error.fault))
        }
    }

    private func send(_ request: WHIPRequest, patience: Int) async -> Result<WHIPResponse, OutputFault> {
        do throws(PullEnd) {
            let exchange = try HTTPExchange(
                request.url, limits: limits, trust: nil, timeout: patience,
                extent: .anyBody(limit: WHIPRequest.longestAnswer), message: request.message,
                judgedAs: WHIPAddress.scheme(ofHTTP: request.url))
            return await exchange.run().map(WHIPResponse.init).mapError(OutputFault.init)
        } catch {
            return .failure(OutputFault(.badURL, error.words))
        }
    }

    /// Returns whether media may be sent to an address: an address that could be the server's or, if the server is on
    /// this machine, another one of this machine.
    private func isAllowed(_ candidate: InternetAddress) -> Bool {
        guard let limits, let target = address.destination(limits)?.target else { return true }
        let named = Reach.Target(scheme: target.scheme, host: "\(candidate)", port: target.port)
        if limits.reach.allows(candidate, of: named) { return true }
        let isHere = target.host == "localhost" || (InternetAddress(text: target.host)?.isLoopback ?? false)
        return isHere && SocketAddress.local(towards: "\(candidate)", port: 9) == candidate
    }

    // MARK: - The relay

    private func clean(_ words: String) -> String {
        let cleaned = redaction.clean(words)
        return address.token.map { cleaned.replacing($0, with: "***") } ?? cleaned
    }

    private func tell(_ message: PushReport) {
        guard let data = try? JSONEncoder().encode(message) else { return }
        report([UInt8](data) + [0x0A])
    }
}
