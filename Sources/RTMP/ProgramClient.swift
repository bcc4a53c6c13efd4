import EncodedMedia
import Foundation
import MediaFormats

/// A program that a worker reads from its relay, over one connection for all viewers of the worker.
///
/// The request to the relay is the one that the service makes for HTTP-FLV, so that playback does not depend on the
/// service. A lost connection is made again, because another process may take over the program. While no relay of this
/// machine has it, it may come another way. That way is tried first, because a relay that stands by for another machine's
/// listens already, and sends nothing.
///
/// `@unchecked Sendable`: all state belongs to the socket loop, and every method must be called there.
package final class ProgramClient: @unchecked Sendable {
    package enum Event {
        /// The program begins with the headers and the current group of pictures.
        case began
        case tags([FLVTag])
        /// The last event: no relay has had the program for some time, or the relay does not send FLV.
        case ended
    }

    /// A way to the program while no relay has it: a socket that answers as a relay does, if the program is there, and closes
    /// the connection at once if not.
    package struct Detour: Sendable {
        package var path: String
        /// The line that asks for the program, without its end.
        package var request: String

        package init(path: String, request: String) {
            self.path = path
            self.request = request
        }
    }

    /// Time in ns between two attempts to reach the relay, and the time after which they end.
    private static let interval: Int64 = 100_000_000
    private static let patience: Int64 = 10_000_000_000
    /// Time in ns between a detour that leads nowhere and the next one, which costs more than an attempt to reach the relay.
    private static let detourInterval: Int64 = 300_000_000
    /// Time in ns after which the first detour yields to a relay, if nothing has come.
    private static let trialLimit: Int64 = 2_000_000_000

    private let path: String
    private let request: String
    private let keyframeRequest: String?
    private let detour: Detour?
    private let onEvent: (Event) -> Void
    private let timer = LoopDeadline()
    private var channel: SocketChannel?
    private var splitter = FLVSplitter()
    private var giveUpAt: Int64 = 0
    private var isOver = false
    /// Whether the relay has announced that it accepts requests for keyframes. A detour accepts them unannounced.
    private var takesKeyframeRequests = false
    /// Whether the connection is a detour from which nothing has come yet.
    private var isUnproven = false
    /// Time before which no detour is tried.
    private var detourAt: Int64 = 0
    /// Whether the first connection, a detour if there is one, is not known to be the right one yet.
    private var isTrial = true

    /// - Parameters:
    ///   - path: The relay's Unix socket.
    ///   - request: The line that asks the relay for FLV, without its end.
    ///   - keyframeRequest: The line that asks the relay for a keyframe, without its end; `nil` if keyframes are never
    ///     requested.
    ///   - detour: Used first, and while no process listens at `path`, until its connection ends, or nothing has come for
    ///     too long.
    ///   - onEvent: Called on the loop, never from within `open()`.
    package init(
        path: String, request: String, keyframeRequest: String? = nil, detour: Detour? = nil,
        onEvent: @escaping (Event) -> Void
    ) {
        self.detour = detour
        self.path = path
        self.request = request
        self.keyframeRequest = keyframeRequest
        self.onEvent = onEvent
    }

    package func open() {
        giveUpAt = MonotonicClock.now() + Self.patience
        timer.begin { [weak self] in self?.connect() }
        timer.set(MonotonicClock.now())
    }

    /// Asks the program for a keyframe, which arrives among the tags. Has no effect if none can be made, or if the
    /// relay's release does not accept such requests. The relay combines requests that arrive close together.
    package func requestKeyframe() {
        guard takesKeyframeRequests, let keyframeRequest else { return }
        channel?.send(Array(keyframeRequest.utf8) + [0x0A])
    }

    /// Ends without an event.
    package func close() {
        isOver = true
        timer.end()
        channel?.close()
        channel = nil
    }

    private func connect() {
        guard !isOver else { return }
        let now = MonotonicClock.now()
        guard channel == nil else {
            // A detour on which nothing comes may not end by itself.
            guard isUnproven else { return }
            if now >= giveUpAt { return end() }
            isTrial = false
            if !takeRelay() { timer.set(giveUpAt) }
            return
        }
        if isTrial, takeDetour(now) { return timer.set(now + Self.trialLimit) }
        isTrial = false
        if takeRelay() { return }
        if takeDetour(now) { timer.set(giveUpAt) } else { again() }
    }

    /// Reads from the relay, in place of a detour.
    ///
    /// - Returns: False if no process listens there.
    private func takeRelay() -> Bool {
        guard let descriptor = UnixListener.dial(path) else { return false }
        channel?.close()
        (isUnproven, takesKeyframeRequests) = (false, false)
        ask(descriptor, request)
        onEvent(.began)
        return true
    }

    /// - Returns: False if there is no detour, or none at this time.
    private func takeDetour(_ now: Int64) -> Bool {
        guard let detour, now >= detourAt, let descriptor = UnixListener.dial(detour.path) else { return false }
        (isUnproven, takesKeyframeRequests) = (true, true)
        ask(descriptor, detour.request)
        return true
    }

    private func ask(_ descriptor: Int32, _ request: String) {
        splitter = FLVSplitter()
        let channel = SocketChannel(
            descriptor: descriptor, onBytes: { [weak self] in self?.take($0) },
            onClosed: { [weak self] in self?.lost() })
        self.channel = channel
        channel.send(Array(request.utf8) + [0x0A])
    }

    /// Connects again after a moment, or gives up.
    private func again() {
        let now = MonotonicClock.now()
        if now < giveUpAt { timer.set(now + Self.interval) } else { end() }
    }

    private func take(_ bytes: [UInt8]) {
        guard !isOver else { return }
        do throws(FLVSplitter.Fault) {
            var tags = try splitter.push(bytes)
            if tags.first == KeyframeRequest.announcement {
                takesKeyframeRequests = true
                tags.removeFirst()
            }
            guard !tags.isEmpty else { return }
            if isUnproven {
                (isUnproven, isTrial) = (false, false)
                onEvent(.began)
            }
            onEvent(.tags(tags))
        } catch {
            end()
        }
    }

    private func lost() {
        guard !isOver else { return }
        channel?.close()
        channel = nil
        let now = MonotonicClock.now()
        // A detour on which nothing came leads nowhere at present.
        if isUnproven { detourAt = now + Self.detourInterval } else { giveUpAt = now + Self.patience }
        guard isTrial else { return again() }
        isTrial = false
        timer.set(now)
    }

    private func end() {
        close()
        onEvent(.ended)
    }
}
