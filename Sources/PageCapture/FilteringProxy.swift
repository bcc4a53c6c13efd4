import Foundation
import RTMP
import Synchronization
import TextFormats

/// The proxy through which a page's browser connects to everything. It resolves names itself and connects to the
/// address that it has checked, so that a name that later resolves to another address cannot bypass the check.
///
/// Each connection has a thread that waits for both of its ends; the number of connections is limited. Usable from any
/// thread.
final class FilteringProxy: Sendable {
    /// Largest number of simultaneous connections. A browser opens 32 through a proxy.
    static let mostConnections = 128
    /// Time in ms without a byte after which a connection is closed, and limit for connecting and for receiving a head.
    private static let idle: Int32 = 600_000
    private static let patience: Int32 = 10_000
    /// Largest number of addresses of a host that are tried.
    private static let mostAddresses = 4
    /// Largest number of destinations whose refusal is reported; a page can cause any number.
    private static let mostTold = 20

    private let rules: Mutex<ProxyRules>
    private let listener: Int32
    private let count = Atomic<Int>(0)
    private let told = Mutex<Set<String>>([])
    private let isOver = Atomic<Bool>(false)
    private let onRefusal: @Sendable (String, ProxyRules.Refusal) -> Void

    /// Port on 127.0.0.1.
    let port: Int

    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    /// Starts listening, and serves until `stop()`.
    ///
    /// - Parameter onRefusal: Called once with host and port of each of the first refused destinations, on any thread.
    init(_ rules: ProxyRules, onRefusal: @escaping @Sendable (String, ProxyRules.Refusal) -> Void) throws(Failure) {
        self.rules = Mutex(rules)
        self.onRefusal = onRefusal
        listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = in_addr_t(INADDR_LOOPBACK).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let descriptor = listener
        let isListening = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { place in
                bind(descriptor, place, length) == 0 && listen(descriptor, 64) == 0
                    && getsockname(descriptor, place, &length) == 0
            }
        }
        port = Int(UInt16(bigEndian: address.sin_port))
        guard isListening else {
            let words = String(cString: strerror(errno))
            if descriptor >= 0 { close(descriptor) }
            throw Failure(description: "the page's proxy cannot listen: \(words)")
        }
        let thread = Thread { [self] in accept() }
        thread.name = "page-proxy"
        thread.start()
    }

    /// Replaces the rules for new requests.
    func rule(by rules: ProxyRules) { self.rules.withLock { $0 = rules } }

    /// Stops listening. Open connections end with their browser.
    func stop() {
        guard !isOver.exchange(true, ordering: .relaxed) else { return }
        shutdown(listener, Int32(SHUT_RDWR))
    }

    private func accept() {
        defer { close(listener) }
        while !isOver.load(ordering: .relaxed) {
            let client = Glibc.accept(listener, nil, nil)
            guard client >= 0 else {
                // Whatever is short (descriptors of the machine, memory) may be free again: a page without its proxy would
                // have no network for the rest of its life. After `stop()` the loop ends.
                usleep(10_000)
                continue
            }
            guard count.add(1, ordering: .relaxed).newValue <= Self.mostConnections else {
                count.subtract(1, ordering: .relaxed)
                close(client)
                continue
            }
            let thread = Thread { [self] in
                defer { count.subtract(1, ordering: .relaxed) }
                serve(client)
                close(client)
            }
            thread.stackSize = 512 << 10
            thread.start()
        }
    }

    private func serve(_ client: Int32) {
        _ = fcntl(client, F_SETFD, FD_CLOEXEC)
        var bytes: [UInt8] = []
        while true {
            switch ProxyRequest.read(bytes) {
            case .incomplete:
                guard wait(client, POLLIN, Self.patience), let more = receive(client), !more.isEmpty else { return }
                bytes += more
            case .malformed: return answerMalformed(client)
            case .request(let request): return serve(client, request, rest: Array(bytes[request.length...]))
            }
        }
    }

    private func serve(_ client: Int32, _ request: ProxyRequest, rest: [UInt8]) {
        let current = rules.withLock { $0 }
        guard current.allowsHost(of: request) else { return refuse(client, request, .host) }
        let found =
            (try? SocketAddress.resolve(host: request.host, port: UInt16(request.port), isNumeric: false)) ?? []
        guard !found.isEmpty else { return answer(client, .unreachable) }
        let allowed = found.filter { one in
            one.internet.map { current.address(of: request, among: [$0]) != nil } ?? false
        }
        guard !allowed.isEmpty else { return refuse(client, request, .address) }
        guard let server = Self.connect(to: allowed) else { return answer(client, .unreachable) }
        defer { close(server) }
        if request.isTunnel {
            guard send(client, Array("HTTP/1.1 200 Connection established\r\n\r\n".utf8)) else { return }
            guard rest.isEmpty || send(server, rest) else { return }
        } else {
            guard send(server, request.head + rest) else { return }
        }
        pump(client, server)
    }

    private func refuse(_ client: Int32, _ request: ProxyRequest, _ refusal: ProxyRules.Refusal) {
        let place = "\(request.host.shortened(toBytes: 200)):\(request.port)"
        let isNew = told.withLock { $0.count < Self.mostTold && $0.insert(place).inserted }
        if isNew { onRefusal(place, refusal) }
        answer(client, .refused)
    }

    /// Connects to the first address that answers, as browsers do: a host may have an address that this machine has no
    /// route to, such as one of IPv6. Each address has its part of the time.
    ///
    /// - Returns: A socket, which the caller closes.
    static func connect(to addresses: [SocketAddress]) -> Int32? {
        let tried = alternating(addresses).prefix(mostAddresses)
        for address in tried {
            if let server = connect(to: address, within: patience / Int32(tried.count)) { return server }
        }
        return nil
    }

    /// Returns the addresses in their order, but of both families by turns: a machine may reach none of one family, and a
    /// host may have more of them than are tried.
    static func alternating(_ addresses: [SocketAddress]) -> [SocketAddress] {
        let first = addresses.filter { $0.family == addresses.first?.family }
        let others = addresses.filter { $0.family != addresses.first?.family }
        return (0..<max(first.count, others.count)).flatMap { index in
            [first, others].compactMap { index < $0.count ? $0[index] : nil }
        }
    }

    private static func connect(to address: SocketAddress, within limit: Int32) -> Int32? {
        let server = socket(address.family, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard server >= 0 else { return nil }
        // Applies to connect(2), too.
        limitSending(server, to: limit)
        guard address.withPointer({ Glibc.connect(server, $0, $1) }) == 0 else {
            close(server)
            return nil
        }
        limitSending(server, to: patience)
        return server
    }

    /// - Parameter limit: Time in ms.
    private static func limitSending(_ socket: Int32, to limit: Int32) {
        var time = timeval(tv_sec: Int(limit) / 1000, tv_usec: Int(limit) % 1000 * 1000)
        setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &time, socklen_t(MemoryLayout<timeval>.size))
    }

    /// Copies in both directions until one end closes.
    private func pump(_ one: Int32, _ other: Int32) {
        var sockets = [one, other].map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
        while poll(&sockets, 2, Self.idle) > 0 {
            for index in 0..<2 where sockets[index].revents != 0 {
                guard let bytes = receive(sockets[index].fd), !bytes.isEmpty, send(sockets[1 - index].fd, bytes) else {
                    return
                }
            }
        }
    }

    private func wait(_ descriptor: Int32, _ event: Int32, _ limit: Int32) -> Bool {
        var socket = pollfd(fd: descriptor, events: Int16(event), revents: 0)
        return poll(&socket, 1, limit) > 0
    }

    private func receive(_ descriptor: Int32) -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: 16 << 10)
        let read = recv(descriptor, &bytes, bytes.count, 0)
        guard read >= 0 else { return nil }
        return Array(bytes[..<read])
    }

    private func send(_ descriptor: Int32, _ bytes: [UInt8]) -> Bool {
        var sent = 0
        while sent < bytes.count {
            let part = bytes.withUnsafeBytes { buffer in
                Glibc.send(
                    descriptor, buffer.baseAddress.map { $0 + sent }, bytes.count - sent, Int32(MSG_NOSIGNAL))
            }
            guard part > 0 else { return false }
            sent += part
        }
        return true
    }

    private func answer(_ client: Int32, _ fault: ProxyFault) { _ = send(client, fault.answer) }

    private func answerMalformed(_ client: Int32) {
        _ = send(client, Array("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".utf8))
    }
}
