import Foundation

/// Many viewers of one program on one thread, which note when every frame arrives.
///
/// They share one `poll`: all get data at the same moment, so few descriptors are examined in vain.
final class ViewerSwarm: @unchecked Sendable {
    struct Figures {
        /// Times from the connection's start to the whole first keyframe, in ns.
        var firstPictures: [Int64] = []
        /// Arrival minus timestamp of each picture, in µs. Only differences between them are meaningful; the earliest
        /// is the reference.
        var lateness: [Int64] = []
        /// Number of times that two consecutive pictures were further apart than `longest`.
        var gaps = 0
        var frames = 0
        var ended = 0
    }

    private struct Viewer {
        var descriptor: Int32
        var stream: ViewerStream
        var startedAt: Int64
        var handshake = 0
        var hasPicture = false
        var last: UInt32?
    }

    private let kind: ViewerStream.Kind
    private let connect: () -> Int32
    /// Bytes written once the connection is there; for RTMP after the handshake.
    private let request: [UInt8]
    // Only the thread uses these while it runs.
    private var viewers: [Viewer] = []
    private var figures = Figures()
    private var isMeasuring = false
    private let lock = NSLock()
    private var isStopped = false
    private let done = DispatchSemaphore(value: 0)
    /// The longest time between two pictures that is not a gap, in ms.
    private let longest: Int

    /// Creates a swarm.
    ///
    /// - Parameter connect: Returns a connected socket.
    init(_ kind: ViewerStream.Kind, request: [UInt8], longest: Int, connect: @escaping () -> Int32) {
        self.kind = kind
        self.request = request
        self.longest = longest
        self.connect = connect
    }

    /// Starts the viewers.
    ///
    /// - Parameter perSecond: Number of viewers that connect per second.
    func start(_ count: Int, perSecond: Int) {
        let thread = Thread { [self] in
            run(count, perSecond: perSecond)
            done.signal()
        }
        thread.stackSize = 4 << 20
        thread.start()
    }

    /// Counts frames from now on, for every viewer that has a picture.
    func measure() { lock.withLock { isMeasuring = true } }
    var picturesSeen: Int { lock.withLock { figures.firstPictures.count } }

    func stop() -> Figures {
        lock.withLock { isStopped = true }
        done.wait()
        return figures
    }

    private func run(_ count: Int, perSecond: Int) {
        var polled: [pollfd] = []
        var buffer = [UInt8](repeating: 0, count: 1 << 20)
        let begin = monotonicTime()
        while !lock.withLock({ isStopped }) {
            let due = min(count, Int((monotonicTime() - begin) * Int64(perSecond) / 1_000_000_000) + 1)
            while viewers.count < due {
                let startedAt = monotonicTime()
                let descriptor = connect()
                _ = fcntl(descriptor, F_SETFL, O_NONBLOCK)
                viewers.append(Viewer(descriptor: descriptor, stream: ViewerStream(kind), startedAt: startedAt))
                polled.append(pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0))
                if kind == .rtmp {
                    send(descriptor, [3] + [UInt8](repeating: 0, count: 1536))
                } else {
                    send(descriptor, request)
                }
            }
            guard poll(&polled, nfds_t(polled.count), viewers.count < count ? 1 : 100) > 0 else { continue }
            for index in polled.indices where polled[index].revents != 0 {
                let length = read(polled[index].fd, &buffer, buffer.count)
                if length > 0 {
                    buffer.withUnsafeBytes { take(UnsafeRawBufferPointer(rebasing: $0[..<length]), index) }
                } else if length == 0 || errno != EAGAIN {
                    polled[index].fd = -1
                    lock.withLock { figures.ended += 1 }
                }
            }
        }
        for viewer in viewers { close(viewer.descriptor) }
    }

    private func take(_ bytes: UnsafeRawBufferPointer, _ index: Int) {
        var bytes = bytes
        if kind == .rtmp, viewers[index].handshake < 3073 {
            let missing = min(3073 - viewers[index].handshake, bytes.count)
            viewers[index].handshake += missing
            bytes = UnsafeRawBufferPointer(rebasing: bytes[missing...])
            if viewers[index].handshake == 3073 {
                send(viewers[index].descriptor, [UInt8](repeating: 0, count: 1536) + request)
            }
        }
        let now = monotonicTime()
        lock.withLock {
            var viewer = viewers[index]
            viewers[index].stream = ViewerStream(kind)
            viewer.stream.push(bytes) { frame in
                guard frame.isVideo else { return }
                if !viewer.hasPicture {
                    guard frame.isKeyframe else { return }
                    viewer.hasPicture = true
                    figures.firstPictures.append(now - viewer.startedAt)
                }
                if let last = viewer.last, Int(frame.timestamp &- last) > longest { figures.gaps += 1 }
                viewer.last = frame.timestamp
                guard isMeasuring else { return }
                figures.frames += 1
                figures.lateness.append(now / 1000 - Int64(frame.timestamp) * 1000)
            }
            viewers[index] = viewer
        }
    }

    private func send(_ descriptor: Int32, _ bytes: [UInt8]) {
        // A short write into an empty buffer is complete at once.
        _ = write(descriptor, bytes, bytes.count)
    }

    // MARK: Sockets

    static func connect(port: Int) -> Int32 {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(port).bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        _ = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                Foundation.connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        return descriptor
    }

    static func connect(path: String) -> Int32 {
        let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        _ = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                Foundation.connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        return descriptor
    }
}
