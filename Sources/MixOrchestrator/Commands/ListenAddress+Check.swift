import Foundation
import NIOCore
import RoomService

extension ListenAddress {
    /// Checks whether the service can listen on this address, before it does anything else.
    ///
    /// Binds the address without listening on it. A client that connects meanwhile is refused, as before the start, and
    /// can try again. Resolves the host's name. Port 0 is always available.
    ///
    /// - Throws: `StartupError` if another process listens there, if the host's name has no address, or if this machine
    ///   does not have the address.
    func check() throws(StartupError) {
        guard port != 0 else { return }
        let address: SocketAddress
        do {
            address = try SocketAddress.makeAddressResolvingHost(host, port: port)
        } catch {
            throw StartupError("cannot listen on \(self): the host's name has no address")
        }
        let descriptor = socket(address.protocol.rawValue, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { throw cannotListen(errno) }
        defer { close(descriptor) }
        // Connections of an earlier run may still be closing.
        var reuse: Int32 = 1
        setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &reuse, socklen_t(MemoryLayout.size(ofValue: reuse)))
        let failure = address.withSockAddr { bind(descriptor, $0, socklen_t($1)) == 0 ? nil : errno }
        switch failure {
        case nil: break
        case EADDRINUSE?: throw portInUse
        case let code?: throw cannotListen(code)
        }
    }

    var portInUse: StartupError {
        StartupError(
            "port \(port) on \(host) is in use: stop the process that uses it "
                + "(`ss -ltnp 'sport = :\(port)'` shows it), or choose another port with --listen")
    }

    private func cannotListen(_ code: Int32) -> StartupError {
        StartupError("cannot listen on \(self): \(String(cString: strerror(code)))")
    }
}
