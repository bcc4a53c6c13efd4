import EncodedMedia
import MediaFormats
import MixModel
import RTMP
import Synchronization

/// Sends a program to one server: its pictures untouched, its audio as Opus.
///
/// Usable from any thread: the work is done on the socket loop in the order of the calls. `@unchecked Sendable`: all
/// state but `heard` belongs to the loop.
package final class ProgramSender: @unchecked Sendable {
    package enum Event: Hashable, Sendable {
        /// The local offer, with all candidates.
        case offered(String)
        case connected
        case keyframeRequested
        /// The connection has ended, or could not be made. The last event; the text contains no secrets.
        case ended(String)
    }

    /// Payload types of the offered formats.
    private static let videoPayload = 96
    /// Far from that of the pictures: `webrtcbin` assigns the next free numbers to formats that it adds to the pictures
    /// (RTX), and does not know this one until audio has arrived.
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
    /// Whether pictures are dropped until the next IDR, because they were not sent as fast as they arrive.
    private var isWaitingForIDR = false

    /// Arrival of the last packet, and the time at which it was last queried.
    private struct Heard {
        var last: Int64?
        var askedAt: Int64 = .min
    }
    /// Time in ns between two queries, each of which goes through the loop.
    private static let pause: Int64 = 1_000_000_000

    /// - Parameter onEvent: Called on the loop.
    package init(onEvent: @escaping @Sendable (Event) -> Void) { self.onEvent = onEvent }

    /// Arrival of the server's last packet in ns of CLOCK_MONOTONIC, up to a second old; `nil` before the first one.
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

    /// Creates an offer, once; `offered` or `ended` follows.
    ///
    /// - Parameter addresses: Numeric addresses of this machine to use; empty for all except loopback.
    package func offer(hasVideo: Bool, hasAudio: Bool, addresses: [String]) {
        loop.perform { [self] in
            guard sender == nil, !isOver else { return }
            self.hasAudio = hasAudio
            let formats = WebRTCSender.Formats(
                video: hasVideo ? Self.videoPayload : nil, audio: hasAudio ? Self.audioPayload : nil)
            // The operator has chosen the server, which may be in the same private network.
            let network = WebRTCNetwork(addresses: addresses, namesPrivateAddresses: true)
            let sender = WebRTCSender(formats, network: network, name: "whip-output") { [weak self] event in
                self?.take(event)
            }
            self.sender = sender
            sender.offer()
        }
    }

    package func accept(_ answer: String) {
        loop.perform { [self] in sender?.accept(answer) }
    }

    /// Sends the next items of the program.
    ///
    /// - Parameter onTaken: Called when they have been sent or kept.
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
            // The group is pushed faster than it can be sent, which does not mean that the server is slow.
            sender?.beginBurst(now: MonotonicClock.now())
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
