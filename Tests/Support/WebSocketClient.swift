import Foundation

/// A WebSocket client written from RFC 6455 that sends any bytes, valid or not.
public final class WebSocketClient: @unchecked Sendable {
    /// A frame from the server.
    public struct Frame: Hashable, Sendable {
        /// First byte: FIN, reserved bits and opcode.
        public let first: UInt8
        public let payload: [UInt8]

        public init(first: UInt8, payload: [UInt8]) {
            self.first = first
            self.payload = payload
        }

        public var opcode: UInt8 { first & 15 }
        public var text: String { String(decoding: payload, as: UTF8.self) }
        /// Code of a close frame; `nil` if there is none.
        public var code: UInt16? {
            opcode == 8 && payload.count >= 2 ? UInt16(payload[0]) << 8 | UInt16(payload[1]) : nil
        }
    }

    private let descriptor: Int32
    // The queue protects all state, since calls may block its thread.
    private let queue = DispatchQueue(label: "websocket")
    /// Sends while `queue` waits for bytes.
    private let sending = DispatchQueue(label: "websocket.sending")
    private var received: [UInt8] = []
    private var isAtEnd = false
    /// The server's answer to the handshake.
    public private(set) var head = ""

    public static let upgrade = [
        "Upgrade": "websocket", "Connection": "Upgrade", "Sec-WebSocket-Version": "13",
        "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
    ]

    /// Connects and sends the handshake.
    ///
    /// - Parameters:
    ///   - headers: Changes to the standard headers; an empty value leaves one out.
    ///   - receiveBuffer: Size of the socket's buffer, in bytes; the system's default if `nil`.
    public static func open(
        port: Int, path: String = "/", headers: [String: String] = [:], receiveBuffer: Int32? = nil
    ) async throws -> WebSocketClient {
        let client = try WebSocketClient(port: port, receiveBuffer: receiveBuffer)
        let fields = upgrade.merging(["Host": "127.0.0.1"]) { $1 }.merging(headers) { $1 }.filter { !$0.value.isEmpty }
        let request = "GET \(path) HTTP/1.1\r\n" + fields.map { "\($0): \($1)\r\n" }.joined() + "\r\n"
        await client.send(raw: Array(request.utf8))
        await client.perform { client in
            while true {
                if let end = client.received.firstRange(of: Array("\r\n\r\n".utf8)) {
                    client.head = String(decoding: client.received[..<end.lowerBound], as: UTF8.self)
                    return client.received.removeFirst(end.upperBound)
                }
                guard client.fill() else { return client.head = String(decoding: client.received, as: UTF8.self) }
            }
        }
        return client
    }

    private init(port: Int, receiveBuffer: Int32?) throws {
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        if var bytes = receiveBuffer {
            setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &bytes, socklen_t(MemoryLayout<Int32>.size))
        }
        guard LoopbackListener.connect(descriptor, to: port) else {
            let failure = SocketFailure("cannot connect to port \(port)")
            Foundation.close(descriptor)
            throw failure
        }
        var patience = timeval(tv_sec: 240, tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size))
        setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size))
    }

    deinit { Foundation.close(descriptor) }

    /// Returns the bytes of a client's frame.
    ///
    /// - Parameter mask: The masking key; `nil` for an unmasked frame.
    public static func frame(
        _ first: UInt8, _ payload: some Sequence<UInt8>, mask: [UInt8]? = [7, 0xFE, 0x80, 0]
    ) -> [UInt8] {
        let payload = Array(payload)
        let masked: UInt8 = mask == nil ? 0 : 0x80
        var bytes = [first]
        switch payload.count {
        case ..<126: bytes.append(masked | UInt8(payload.count))
        case ..<65536: bytes += [masked | 126, UInt8(payload.count >> 8), UInt8(payload.count & 255)]
        default:
            bytes.append(masked | 127)
            for shift in stride(from: 56, through: 0, by: -8) { bytes.append(UInt8(payload.count >> shift & 255)) }
        }
        guard let mask else { return bytes + payload }
        return bytes + mask + payload.enumerated().map { $1 ^ mask[$0 % 4] }
    }

    public func send(text: String) async { await send(raw: Self.frame(0x81, text.utf8)) }

    public func send(_ first: UInt8, _ payload: some Sequence<UInt8> = []) async {
        await send(raw: Self.frame(first, payload))
    }

    /// Sends bytes unchanged, as many as the server accepts.
    public func send(raw bytes: [UInt8]) async {
        await perform(on: sending) { client in
            var sent = 0
            while sent < bytes.count {
                let count = bytes[sent...].withUnsafeBytes {
                    Foundation.send(client.descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
                }
                guard count > 0 else { return }
                sent += count
            }
        }
    }

    /// Returns the next frame; `nil` after the server has closed the connection, or after four minutes of silence.
    public func next() async -> Frame? {
        await perform { client in
            while true {
                if let frame = client.takeFrame() { return frame }
                guard client.fill() else { return nil }
            }
        }
    }

    /// Returns the next text, skipping pings.
    public func text() async -> String? {
        while let frame = await next(), frame.opcode != 8 {
            if frame.opcode == 1 { return frame.text }
        }
        return nil
    }

    /// Returns all frames until the connection ends.
    public func rest() async -> [Frame] {
        var frames: [Frame] = []
        while let frame = await next() { frames.append(frame) }
        return frames
    }

    public func disconnect() async {
        await perform(on: sending) { _ = shutdown($0.descriptor, Int32(SHUT_RDWR)) }
    }

    private func perform<Value: Sendable>(
        on other: DispatchQueue? = nil, _ body: @escaping @Sendable (WebSocketClient) -> Value
    ) async -> Value {
        await withCheckedContinuation { continuation in
            (other ?? queue).async { continuation.resume(returning: body(self)) }
        }
    }

    private func fill() -> Bool {
        var buffer = [UInt8](repeating: 0, count: 1 << 16)
        let count = isAtEnd ? 0 : recv(descriptor, &buffer, buffer.count, 0)
        guard count > 0 else {
            isAtEnd = true
            return false
        }
        received += buffer[..<count]
        return true
    }

    private func takeFrame() -> Frame? {
        guard received.count >= 2 else { return nil }
        var (length, start) = (Int(received[1] & 127), 2)
        if length >= 126 {
            let size = length == 126 ? 2 : 8
            guard received.count >= 2 + size else { return nil }
            length = received[2..<2 + size].reduce(0) { $0 << 8 | Int($1) }
            start += size
        }
        guard received.count >= start + length else { return nil }
        defer { received.removeFirst(start + length) }
        return Frame(first: received[0], payload: Array(received[start..<start + length]))
    }
}
