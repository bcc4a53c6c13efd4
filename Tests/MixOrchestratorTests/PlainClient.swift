import Foundation

/// A connection of plain system calls, which holds no memory of its own: what a process grows by is the service's.
struct PlainClient {
    private let descriptor: Int32

    /// `nil` when the service takes no connection.
    init?(port: Int) {
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(port).bigEndian
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        let isOpen = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
        }
        guard isOpen else {
            Foundation.close(descriptor)
            return nil
        }
        _ = fcntl(descriptor, F_SETFL, O_NONBLOCK)
    }

    /// Sends as much as the service takes now.
    ///
    /// - Returns: How many bytes; -1 when the other side has closed the connection.
    func send(_ bytes: some Sequence<UInt8>) -> Int {
        let bytes = Array(bytes)
        var sent = 0
        while sent < bytes.count {
            let count = bytes[sent...].withUnsafeBytes {
                Foundation.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            if count <= 0 { return errno == EAGAIN ? sent : -1 }
            sent += count
        }
        return sent
    }

    /// What has come, at most 64 KiB.
    func receive() -> String {
        var bytes = [UInt8](repeating: 0, count: 64 << 10)
        let count = recv(descriptor, &bytes, bytes.count, 0)
        return String(decoding: bytes.prefix(max(0, count)), as: UTF8.self)
    }

    func close() { Foundation.close(descriptor) }
}

/// What this process holds of the machine.
enum ProcessMemory {
    /// Resident, in bytes.
    static var resident: Int {
        let text = (try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8)) ?? ""
        return (text.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0)
            * Int(sysconf(Int32(_SC_PAGESIZE)))
    }
}
