import COpenSSL

/// One side of a TLS connection, without a socket: bytes go in and bytes come out.
///
/// For a client, the server has to show a certificate for the host, signed by an authority that `TLSContext` trusts. A
/// server does not ask its clients for certificates. Not for use by several threads at once: its owner's lock protects
/// it.
final class TLSSession {
    enum State: Hashable {
        case handshake
        case open
        /// The peer has ended its output; this side may still write.
        case ended
        /// The session has failed permanently, with OpenSSL's description.
        case failed(String)
    }

    private(set) var state = State.handshake
    /// The OpenSSL session; `nil` only in a session that has failed.
    private let ssl: OpaquePointer?
    /// Bytes received from the peer, and bytes to send to it. Both are owned by `ssl`.
    private let incoming: OpaquePointer?
    private let outgoing: OpaquePointer?
    private var hasSaidGoodbye = false

    /// Creates the client's side.
    ///
    /// - Parameter host: Host name or numeric address as in the certificate; IPv6 without brackets.
    convenience init(_ context: TLSContext, host: String) {
        self.init(context)
        guard let ssl else { return }
        SSL_set_connect_state(ssl)
        if !Self.expect(host, of: ssl) { state = .failed("\(host) cannot appear in a certificate") }
    }

    /// Creates the server's side.
    ///
    /// - Parameter context: The server's certificate.
    convenience init(serving context: TLSContext) {
        self.init(context)
        if let ssl { SSL_set_accept_state(ssl) }
    }

    private init(_ context: TLSContext) {
        ERR_clear_error()
        guard let shared = context.context, let ssl = SSL_new(shared) else {
            (ssl, incoming, outgoing) = (nil, nil, nil)
            state = .failed(context.fault ?? Self.reason ?? "OpenSSL does not work")
            return
        }
        self.ssl = ssl
        incoming = BIO_new(BIO_s_mem())
        outgoing = BIO_new(BIO_s_mem())
        SSL_set_bio(ssl, incoming, outgoing)
    }

    deinit { SSL_free(ssl) }

    /// Sets the host that the certificate has to name. Addresses are not sent to servers as names (RFC 6066, §3).
    private static func expect(_ host: String, of ssl: OpaquePointer) -> Bool {
        let expected = SSL_get0_param(ssl)
        if X509_VERIFY_PARAM_set1_ip_asc(expected, host) == 1 { return true }
        // In certificates, a name does not include the dot that ends an absolute name.
        let name = host.hasSuffix(".") ? String(host.dropLast()) : host
        X509_VERIFY_PARAM_set_hostflags(expected, UInt32(X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS))
        return !name.isEmpty && X509_VERIFY_PARAM_set1_host(expected, name, 0) == 1
            && cossl_set_server_name(ssl, name) == 1
    }

    /// Begins the handshake. Afterwards a client has bytes to send.
    func begin() { shakeHands() }

    /// Accepts bytes from the peer, split anywhere. Afterwards there may be bytes to send.
    ///
    /// - Returns: The plaintext that these bytes complete.
    func receive(_ bytes: ArraySlice<UInt8>) -> [UInt8] {
        guard let incoming else { return [] }
        var written = 0
        ERR_clear_error()
        bytes.withUnsafeBytes { buffer in
            guard let start = buffer.baseAddress else { return }
            // The memory grows as needed.
            BIO_write_ex(incoming, start, buffer.count, &written)
        }
        guard written == bytes.count else {
            fail("no memory")
            return []
        }
        if state == .handshake { shakeHands() }
        return read()
    }

    /// Encrypts `plaintext`.
    ///
    /// - Returns: Whether all of it was accepted. If not, call again after the next bytes from the peer.
    func write(_ plaintext: [UInt8]) -> Bool {
        guard let ssl, state == .open || state == .ended, !hasSaidGoodbye else { return false }
        guard !plaintext.isEmpty else { return true }
        var written = 0
        ERR_clear_error()
        let status = SSL_write_ex(ssl, plaintext, plaintext.count, &written)
        if status != 1 { check(status) }
        return status == 1
    }

    /// Returns the bytes to send to the peer now.
    func takeOutput() -> [UInt8] {
        guard let outgoing else { return [] }
        let count = BIO_ctrl_pending(outgoing)
        guard count > 0 else { return [] }
        return [UInt8](unsafeUninitializedCapacity: count) { buffer, length in
            BIO_read_ex(outgoing, buffer.baseAddress, buffer.count, &length)
        }
    }

    /// Sends close_notify, after which writes are refused. The peer's bytes are still read.
    func finish() {
        guard let ssl, state == .open || state == .ended, !hasSaidGoodbye else { return }
        hasSaidGoodbye = true
        ERR_clear_error()
        SSL_shutdown(ssl)
    }

    // MARK: - OpenSSL

    private func shakeHands() {
        guard let ssl, state == .handshake else { return }
        ERR_clear_error()
        let status = SSL_do_handshake(ssl)
        if status == 1 { state = .open } else { check(status) }
    }

    private func read() -> [UInt8] {
        guard let ssl, state == .open else { return [] }
        var plaintext: [UInt8] = []
        while state == .open {
            var count = 0
            var status: Int32 = 0
            ERR_clear_error()
            // One record contains no more than this.
            plaintext += [UInt8](unsafeUninitializedCapacity: Int(SSL3_RT_MAX_PLAIN_LENGTH)) { buffer, length in
                status = SSL_read_ex(ssl, buffer.baseAddress, buffer.count, &count)
                length = count
            }
            guard status == 1 else {
                check(status)
                break
            }
        }
        return plaintext
    }

    /// Handles the result of a call that did not succeed.
    private func check(_ status: Int32) {
        switch SSL_get_error(ssl, status) {
        case SSL_ERROR_WANT_READ, SSL_ERROR_WANT_WRITE: break
        case SSL_ERROR_ZERO_RETURN: state = .ended
        default: fail(Self.reason ?? "the connection is broken")
        }
    }

    private func fail(_ words: String) {
        // The verification result describes the problem with a certificate; the list of errors does not.
        let verdict = SSL_get_verify_result(ssl)
        if verdict != Int(X509_V_OK), let text = X509_verify_cert_error_string(verdict) {
            state = .failed("the server's certificate is refused: \(String(cString: text))")
        } else {
            state = .failed(words)
        }
    }

    /// Description of the first error in the calling thread's list.
    static var reason: String? {
        let error = ERR_get_error()
        guard error != 0 else { return nil }
        if let words = ERR_reason_error_string(error) { return String(cString: words) }
        // An error of the system.
        var text = [CChar](repeating: 0, count: 256)
        ERR_error_string_n(error, &text, text.count)
        return text.withUnsafeBufferPointer { $0.baseAddress.map { String(cString: $0) } }
    }
}
