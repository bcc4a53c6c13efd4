import EncodedMedia
import MediaFormats
import MixModel
import RTMP
import Synchronization

/// A program that is sent to one server: its pictures untouched, its sound as Opus.
///
/// Usable from any thread: what is done, is done on the socket loop in the order of the calls. `@unchecked Sendable`: all state
/// but `heard` belongs to the loop.
package final class ProgramSender: @unchecked Sendable {
    package enum Event: Hashable, Sendable {
        /// The offer of this side, with all candidates.
        case offered(String)
        case connected
        case keyframeRequested
        /// There is no connection any more, or there never was one: the last event. Words without secrets.
        case ended(String)
    }

    /// Payload types of what is offered.
    private static let videoPayload = 96
    /// Far from that of the pictures: `webrtcbin` gives the next free numbers to what it adds to the pictures (RTX), and does
    /// not know this one as long as no sound has come.
    private static let audioPayload = 111

    private let loop = SocketLoop.shared
    private let onEvent: @Sendable (Event) -> Void
    private let heard = Mutex(Heard())
    private var pictures = SentPictures()
    private var sender: WebRTCSender?
    private var transcoder: OpusTranscoder?
    private var hasAudio = false
    private var isConnected = false
    private var isOver = false
    /// Whether pictures are left out until the next IDR, because they were not sent as fast as they come.
    private var isWaitingForIDR = false

    /// Arrival of the last packet, and the time at which that was asked for last.
    private struct Heard {
        var last: Int64?
        var askedAt: Int64 = .min
    }
    /// Time in ns between two questions, each of which goes through the loop.
    private static let pause: Int64 = 1_000_000_000

    /// - Parameter onEvent: Called on the loop.
    package init(onEvent: @escaping @Sendable (Event) -> Void) { self.onEvent = onEvent }

    /// Arrival of the server's last packet in ns of CLOCK_MONOTONIC, as of a second ago; `nil` before the first one.
    package var lastHeard: Int64? {
        let now = MonotonicClock.now()
        let (last, isDue) = heard.withLock { heard in
            let isDue = now.saturatingDifference(heard.askedAt) >= Self.pause
            if isDue { heard.askedAt = now }
            return (heard.last, isDue)
        }
        if isDue {
            loop.perform { [self] in
                guard let last = sender?.lastHeard else { return }
                heard.withLock { $0.last = last }
            }
        }
        return last
    }

    /// Makes an offer, once; `offered` or `ended` follows.
    ///
    /// - Parameter addresses: Addresses of this machine to use, in digits; empty for all but loopback.
    package func offer(hasVideo: Bool, hasAudio: Bool, addresses: [String]) {
        loop.perform { [self] in
            guard sender == nil, !isOver else { return }
            self.hasAudio = hasAudio
            let formats = WebRTCSender.Formats(
                video: hasVideo ? Self.videoPayload : nil, audio: hasAudio ? Self.audioPayload : nil)
            let sender = WebRTCSender(
                formats, network: WebRTCNetwork(addresses: addresses), name: "whip-output"
            ) { [weak self] event in self?.take(event) }
            self.sender = sender
            sender.offer()
        }
    }

    package func accept(_ answer: String) {
        loop.perform { [self] in sender?.accept(answer) }
    }

    /// Takes the next items of the program.
    ///
    /// - Parameter onTaken: Called when they are on their way or kept.
    package func take(_ items: [MediaItem], onTaken: @escaping @Sendable () -> Void) {
        loop.perform { [self] in
            if !isOver { for item in items { take(item) } }
            onTaken()
        }
    }

    /// Ends the connection and frees everything. Call once.
    package func close() async {
        let (sender, transcoder) = await withCheckedContinuation { continuation in
            loop.perform { [self] in
                isOver = true
                continuation.resume(returning: (self.sender, self.transcoder))
                (self.sender, self.transcoder) = (nil, nil)
            }
        }
        await sender?.close()
        transcoder?.tearDown()
    }

    // MARK: - On the loop

    private func take(_ event: WebRTCSender.Event) {
        guard !isOver else { return }
        switch event {
        case .described(let text): onEvent(.offered(text))
        case .connected:
            isConnected = true
            onEvent(.connected)
            for picture in pictures.begin() { send(picture) }
        case .keyframeRequested: onEvent(.keyframeRequested)
        case .ended(let reason): onEvent(.ended(reason))
        }
    }

    private func take(_ item: MediaItem) {
        if item.track != .video {
            let transcoder = transcoder ?? makeTranscoder()
            self.transcoder = transcoder
            transcoder.take(item)
        }
        guard item.track != .audio else { return }
        for picture in pictures.take(item) { send(picture) }
    }

    private func makeTranscoder() -> OpusTranscoder {
        OpusTranscoder { [weak self, loop] packet in
            loop.perform { [weak self] in
                guard let self, isConnected, hasAudio else { return }
                sender?.push(packet)
            }
        }
    }

    private func send(_ picture: WebRTCPicture) {
        guard let sender else { return }
        let isBehind = sender.isBehind(now: MonotonicClock.now())
        if isBehind { isWaitingForIDR = true } else if picture.isIDR { isWaitingForIDR = false }
        guard !isWaitingForIDR else { return }
        sender.push(picture: picture.bytes, at: picture.time, isIDR: picture.isIDR)
    }
}
