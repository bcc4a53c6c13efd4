import COpenSSL
import Testing

/// The server's side of a TLS connection in memory.
final class TLSPeer {
    private let context: OpaquePointer
    private let ssl: OpaquePointer
    private let incoming: OpaquePointer
    private let outgoing: OpaquePointer

    /// Creates a server's side with this certificate.
    ///
    /// - Parameter newest: The newest TLS version to offer.
    init(_ certificate: TestCertificate, newest: Int32 = TLS1_3_VERSION) throws {
        context = try #require(SSL_CTX_new(TLS_server_method()))
        SSL_CTX_ctrl(context, SSL_CTRL_SET_MAX_PROTO_VERSION, Int(newest), nil)
        try #require(SSL_CTX_use_certificate_file(context, certificate.file, SSL_FILETYPE_PEM) == 1)
        try #require(SSL_CTX_use_PrivateKey_file(context, certificate.key, SSL_FILETYPE_PEM) == 1)
        ssl = try #require(SSL_new(context))
        incoming = try #require(BIO_new(BIO_s_mem()))
        outgoing = try #require(BIO_new(BIO_s_mem()))
        SSL_set_bio(ssl, incoming, outgoing)
        SSL_set_accept_state(ssl)
    }

    deinit {
        SSL_free(ssl)
        SSL_CTX_free(context)
    }

    /// Makes its session tickets so long that each takes several records.
    func makeTicketsLong() {
        SSL_CTX_set_session_ticket_cb(
            context,
            { ssl, _ in
                let data = [UInt8](repeating: 1, count: 2000)
                return SSL_SESSION_set1_ticket_appdata(SSL_get_session(ssl), data, data.count)
            }, { _, _, _, _, _, _ in SSL_TICKET_RETURN_IGNORE }, nil)
        SSL_ctrl(ssl, SSL_CTRL_SET_MAX_SEND_FRAGMENT, 512, nil)
    }

    /// The name that the client has requested.
    var serverName: String? {
        SSL_get_servername(ssl, TLSEXT_NAMETYPE_host_name).map { String(cString: $0) }
    }

    var version: String { String(cString: SSL_get_version(ssl)) }

    /// - Returns: The plaintext that the bytes complete; `nil` after the client's closing alert.
    func receive(_ bytes: [UInt8]) -> [UInt8]? {
        var count = 0
        BIO_write_ex(incoming, bytes, bytes.count, &count)
        var plaintext: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 1 << 16)
        ERR_clear_error()
        while SSL_read_ex(ssl, &buffer, buffer.count, &count) == 1 { plaintext += buffer[..<count] }
        let isOver = SSL_get_shutdown(ssl) & SSL_RECEIVED_SHUTDOWN != 0
        return isOver && plaintext.isEmpty ? nil : plaintext
    }

    func write(_ plaintext: [UInt8]) {
        var count = 0
        SSL_write_ex(ssl, plaintext, plaintext.count, &count)
    }

    /// Changes its keys and asks the client to do the same.
    func changeKeys() {
        SSL_key_update(ssl, SSL_KEY_UPDATE_REQUESTED)
        SSL_do_handshake(ssl)
    }

    func sayGoodbye() { SSL_shutdown(ssl) }

    func takeOutput() -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: BIO_ctrl_pending(outgoing))
        var count = 0
        BIO_read_ex(outgoing, &bytes, bytes.count, &count)
        return Array(bytes.prefix(count))
    }
}
