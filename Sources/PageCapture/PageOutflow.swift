import EncodedMedia
import MediaFormats
import RTMP
import WebRTCGateway

/// A page's stream on its way to the ingest: frames while the page is shown, and otherwise the notice that it shows
/// nothing for now.
///
/// `@unchecked Sendable`: all state belongs to the socket loop, and every method must be called there.
final class PageOutflow: @unchecked Sendable {
    /// Interval in ns between two notices. The ingest ends a publisher from which nothing comes for 15 s.
    private static let pauseInterval: Int64 = 5_000_000_000

    private let uplink: StreamUplink
    private let departure = LoopDeadline()
    private var held = HeldFrames()
    private var stream = PublishedStream()
    private var isShown = false
    /// Time of the next notice.
    private var pauseAt: Int64 = 0

    /// - Parameter onEvent: Called on the loop.
    init(_ address: RTMPAddress, onEvent: @escaping (StreamUplink.Event) -> Void) {
        uplink = StreamUplink(address, onEvent: onEvent)
        departure.begin { [weak self] in self?.sendDue() }
    }

    /// Connects. `begin()` or `end()` has to be called once that has succeeded or failed.
    func dial() { uplink.dial() }

    /// Begins with a server that has accepted the stream.
    ///
    /// - Returns: Whether a keyframe is needed.
    func begin() -> Bool {
        guard isShown else {
            sendPause(now: MonotonicClock.now())
            return false
        }
        uplink.send(stream.open())
        return stream.needsKeyframe
    }

    /// Records that the server is gone.
    func end() { stream.close() }

    /// Lets frames leave from now on, beginning with a keyframe.
    func show() {
        isShown = true
        if uplink.isOpen { uplink.send(stream.open()) }
    }

    /// Stops that, drops the frames that have not left yet, and tells the server.
    func hide() {
        held.drop()
        stream.close()
        guard isShown else { return }
        isShown = false
        sendPause(now: MonotonicClock.now())
    }

    func take(_ frame: PublishedStream.Frame) {
        guard isShown else { return }
        held.add(frame, now: MonotonicClock.now())
        sendDue()
    }

    private func sendDue() {
        for frame in held.takeDue(now: MonotonicClock.now()) { uplink.send(stream.take(frame)) }
        departure.set(held.due)
    }

    /// Repeats the notice while it is due. Call this every 50 ms or so.
    func tick(now: Int64) {
        guard !isShown, now >= pauseAt else { return }
        sendPause(now: now)
    }

    private func sendPause(now: Int64) {
        pauseAt = now.saturatingSum(Self.pauseInterval)
        uplink.send([stream.pause])
    }

    /// Tells the server that the stream is over, and closes.
    func close() async {
        departure.end()
        await uplink.close()
    }
}
