import Foundation
import Synchronization
import TextFormats

/// Looks up addresses with the system's resolver.
enum HostAddresses {
    /// Returns every address of a host, which may itself be an address.
    ///
    /// - Parameter limit: Maximum time to wait. A resolver that takes longer is left running.
    /// - Throws: `FileRefusal` if the lookup fails or takes too long.
    @Sendable static func lookUp(_ host: String, limit: Duration) async throws(FileRefusal) -> [InternetAddress] {
        let waiting = Waiting()
        let result = await withCheckedContinuation { continuation in
            waiting.begin(continuation)
            DispatchQueue.global().async { waiting.end(Self.ask(host)) }
            DispatchQueue.global().asyncAfter(deadline: .now() + .milliseconds(Int(limit / .milliseconds(1)))) {
                waiting.end(.failure(FileRefusal("cannot be fetched: looking up \(host) timed out")))
            }
        }
        return try result.get()
    }

    /// Passes on the first answer and ignores the second.
    private final class Waiting: Sendable {
        typealias Answer = Result<[InternetAddress], FileRefusal>
        private let continuation = Mutex<CheckedContinuation<Answer, Never>?>(nil)

        func begin(_ continuation: CheckedContinuation<Answer, Never>) {
            self.continuation.withLock { $0 = continuation }
        }

        func end(_ answer: Answer) { continuation.withLock { $0.take() }?.resume(returning: answer) }
    }

    private static func ask(_ host: String) -> Result<[InternetAddress], FileRefusal> {
        var hints = addrinfo()
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        var list: UnsafeMutablePointer<addrinfo>?
        let code = getaddrinfo(host, nil, &hints, &list)
        guard code == 0 else {
            return .failure(FileRefusal("cannot be fetched: \(host): \(String(cString: gai_strerror(code)))"))
        }
        defer { freeaddrinfo(list) }
        var addresses: [InternetAddress] = []
        var next = list
        while let info = next?.pointee {
            if let address = address(info), !addresses.contains(address) { addresses.append(address) }
            next = info.ai_next
        }
        return .success(addresses)
    }

    private static func address(_ info: addrinfo) -> InternetAddress? {
        guard let socket = info.ai_addr else { return nil }
        switch info.ai_family {
        case AF_INET:
            return socket.withMemoryRebound(to: sockaddr_in.self, capacity: 1) { pointer in
                withUnsafeBytes(of: pointer.pointee.sin_addr) { InternetAddress(Array($0)) }
            }
        case AF_INET6:
            return socket.withMemoryRebound(to: sockaddr_in6.self, capacity: 1) { pointer in
                withUnsafeBytes(of: pointer.pointee.sin6_addr) { InternetAddress(Array($0)) }
            }
        default: return nil
        }
    }
}
