import Foundation
import TextFormats

/// An address to which a TCP socket can connect.
package struct SocketAddress: Sendable {
    /// The system's description of why a name has no address.
    package struct Unresolved: Error {
        package let reason: String
    }

    private let storage: sockaddr_storage
    private let length: socklen_t

    package init(storage: sockaddr_storage, length: socklen_t) {
        self.storage = storage
        self.length = length
    }

    /// The IPv4 or IPv6 address; `nil` for other families.
    package var internet: InternetAddress? {
        withUnsafePointer(to: storage) { pointer in
            switch family {
            case AF_INET:
                pointer.withMemoryRebound(to: sockaddr_in.self, capacity: 1) { socket in
                    withUnsafeBytes(of: socket.pointee.sin_addr) { InternetAddress(Array($0)) }
                }
            case AF_INET6:
                pointer.withMemoryRebound(to: sockaddr_in6.self, capacity: 1) { socket in
                    withUnsafeBytes(of: socket.pointee.sin6_addr) { InternetAddress(Array($0)) }
                }
            default: nil
            }
        }
    }

    package var family: Int32 { Int32(storage.ss_family) }

    package func withPointer<Result>(_ body: (UnsafePointer<sockaddr>, socklen_t) -> Result) -> Result {
        withUnsafePointer(to: storage) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, length) }
        }
    }

    /// Returns all addresses of a host, in the system's order of preference.
    ///
    /// Blocks while it queries the network, unless `isNumeric` is true, which accepts only numeric addresses.
    package static func resolve(host: String, port: UInt16, isNumeric: Bool) throws(Unresolved) -> [SocketAddress] {
        var hints = addrinfo()
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        hints.ai_flags = isNumeric ? AI_NUMERICHOST | AI_NUMERICSERV : AI_NUMERICSERV
        var list: UnsafeMutablePointer<addrinfo>?
        let status = getaddrinfo(host, String(port), &hints, &list)
        guard status == 0, let list else { throw Unresolved(reason: String(cString: gai_strerror(status))) }
        defer { freeaddrinfo(list) }
        var addresses: [SocketAddress] = []
        var entry: UnsafeMutablePointer<addrinfo>? = list
        while let info = entry?.pointee {
            if let address = info.ai_addr, Int(info.ai_addrlen) <= MemoryLayout<sockaddr_storage>.size {
                var storage = sockaddr_storage()
                memcpy(&storage, address, Int(info.ai_addrlen))
                addresses.append(SocketAddress(storage: storage, length: info.ai_addrlen))
            }
            entry = info.ai_next
        }
        return addresses
    }
}

extension SocketAddress {
    /// Returns the address of this machine from which packets to a numeric address are sent; `nil` if there is no
    /// route.
    ///
    /// Sends nothing.
    package static func local(towards host: String, port: UInt16) -> InternetAddress? {
        guard let remote = try? resolve(host: host, port: port, isNumeric: true).first else { return nil }
        let descriptor = socket(remote.family, Int32(SOCK_DGRAM.rawValue), 0)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var storage = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        let isKnown = withUnsafeMutablePointer(to: &storage) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { local in
                remote.withPointer { connect(descriptor, $0, $1) } == 0 && getsockname(descriptor, local, &length) == 0
            }
        }
        return isKnown ? SocketAddress(storage: storage, length: length).internet : nil
    }
}

extension SocketAddress: Equatable {
    package static func == (one: SocketAddress, other: SocketAddress) -> Bool {
        one.length == other.length
            && one.withPointer { left, length in
                other.withPointer { right, _ in memcmp(left, right, Int(length)) == 0 }
            }
    }
}
