import Foundation

/// A call to a storage for one object.
package enum StorageCall: Hashable, Sendable {
    /// Stores the whole object.
    case put(ObjectChecksum)
    /// Begins a multipart upload.
    case create
    /// Stores a part; numbers start with 1.
    case part(Int, upload: String, ObjectChecksum)
    /// Assembles the object from its parts.
    case complete(upload: String, [StoredPart])
    /// Aborts a multipart upload; the storage removes its parts.
    case abort(upload: String)
    /// Asks which object is stored.
    case look
}

/// A part that the storage has.
package struct StoredPart: Hashable, Codable, Sendable {
    /// Entity tag, as given by the storage.
    package var tag: String
    package var checksum: ObjectChecksum

    package init(tag: String, checksum: ObjectChecksum) {
        self.tag = tag
        self.checksum = checksum
    }
}

/// A signed request.
package struct StorageRequest: Sendable {
    package var method: String
    package var url: String
    package var headers: [(name: String, value: String)]
    /// The body of calls that have one. The body of `put` and `part` comes from the file.
    package var body: [UInt8] = []
}

extension StorageCall {
    /// Returns the request of this call.
    ///
    /// - Parameters:
    ///   - key: Key of the object.
    ///   - type: Media type of the object.
    ///   - seconds: Time of the signature, in seconds since 1970. Storages refuse a time that is off by 15 minutes.
    package func request(
        for key: String, type: String, at place: StoragePlace, as credentials: StorageCredentials, seconds: Double
    ) -> StorageRequest {
        var query: [(name: String, value: String)] = []
        var headers: [(name: String, value: String)] = [("host", place.host)]
        var body: [UInt8] = []
        var payload = ObjectChecksum.ofNothing
        switch self {
        case .put(let checksum):
            headers += [("content-type", type)] + Self.headers(of: checksum)
            payload = checksum.hexadecimalSHA256
        case .create:
            query = [("uploads", "")]
            headers += [("content-type", type), ("x-amz-checksum-algorithm", "SHA256")]
        case .part(let number, let upload, let checksum):
            query = [("partNumber", "\(number)"), ("uploadId", upload)]
            headers += Self.headers(of: checksum)
            payload = checksum.hexadecimalSHA256
        case .complete(let upload, let parts):
            query = [("uploadId", upload)]
            body = Self.list(of: parts)
            headers.append(("content-type", "application/xml"))
            payload = ObjectChecksum(Data(body)).hexadecimalSHA256
        case .abort(let upload): query = [("uploadId", upload)]
        case .look: headers.append(("x-amz-checksum-mode", "ENABLED"))
        }
        let path = place.path(of: key)
        let signature = SignatureV4(credentials: credentials, region: place.region)
        let signed = SignatureV4.Request(
            method: method, path: path, query: query, headers: headers, payload: payload)
        headers += signature.headers(for: signed, at: SigningTime(seconds: seconds))
        let text = SignatureV4.canonicalQuery(query)
        return StorageRequest(
            method: method, url: "\(place.scheme)://\(place.host)\(path)" + (text.isEmpty ? "" : "?\(text)"),
            headers: headers, body: body)
    }

    private var method: String {
        switch self {
        case .put, .part: "PUT"
        case .create, .complete: "POST"
        case .abort: "DELETE"
        case .look: "HEAD"
        }
    }

    /// Both checksums are sent: every storage checks MD5, and newer ones keep SHA-256.
    private static func headers(of checksum: ObjectChecksum) -> [(name: String, value: String)] {
        [
            ("content-md5", checksum.base64MD5), ("x-amz-checksum-sha256", checksum.sha256),
            ("x-amz-sdk-checksum-algorithm", "SHA256"),
        ]
    }

    private static func list(of parts: [StoredPart]) -> [UInt8] {
        var text = #"<CompleteMultipartUpload xmlns="http://s3.amazonaws.com/doc/2006-03-01/">"#
        for (index, part) in parts.enumerated() {
            text += "<Part><PartNumber>\(index + 1)</PartNumber><ETag>\(AnswerText.escaped(part.tag))</ETag>"
            text += "<ChecksumSHA256>\(part.checksum.sha256)</ChecksumSHA256></Part>"
        }
        return Array((text + "</CompleteMultipartUpload>").utf8)
    }
}

extension StoragePlace {
    /// Returns a link to an object with which anyone can fetch it for a limited time.
    ///
    /// - Parameters:
    ///   - seconds: Validity, 1…604,800.
    ///   - time: Time of the signature, in seconds since 1970.
    package func link(to key: String, as credentials: StorageCredentials, seconds: Int, at time: Double) -> String {
        let path = path(of: key)
        let query = SignatureV4(credentials: credentials, region: region).query(
            host: host, path: path, at: SigningTime(seconds: time), seconds: seconds)
        return "\(scheme)://\(host)\(path)?\(query)"
    }
}
