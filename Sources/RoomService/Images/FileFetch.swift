import AsyncHTTPClient
import EventSubscription
import Foundation
import MediaFormats
import MixModel
import NIOCore
import NIOPosix
import TextFormats

/// Fetches one file over HTTP: an image, or idle media.
///
/// Only allowed places are contacted, within limits of time and size that are enforced regardless of what the server
/// states.
///
/// Each host is resolved here, its addresses are checked, and the connection goes to a checked address. A name whose
/// address changes in between therefore leads nowhere else. The same applies to each redirect.
package struct FileFetch: Sendable {
    package var allowed: AllowList
    /// Maximum time for the whole fetch: resolving, connecting, redirects and the body.
    var timeLimit: Duration = .seconds(10)
    /// Maximum size of a file, in bytes.
    package var mostBytes = ImageHeader.mostBytes
    /// Resolves a host to its addresses.
    var resolve: @Sendable (_ host: String, _ limit: Duration) async throws(FileRefusal) -> [InternetAddress] =
        HostAddresses.lookUp

    package init(
        allowed: AllowList, timeLimit: Duration = .seconds(10), mostBytes: Int = ImageHeader.mostBytes,
        resolve:
            @escaping @Sendable (_ host: String, _ limit: Duration) async throws(FileRefusal) -> [InternetAddress] =
            HostAddresses.lookUp
    ) {
        self.allowed = allowed
        self.timeLimit = timeLimit
        self.mostBytes = mostBytes
        self.resolve = resolve
    }

    static let mostRedirects = 3

    /// Validators with which a server can confirm that a file has not changed.
    struct Validators: Hashable, Codable, Sendable {
        var eTag: String?
        var lastModified: String?
    }

    enum Answer: Sendable {
        case unchanged
        case image([UInt8], ImageHeader, Validators)
        /// The file was written and has this many bytes.
        case written(bytes: Int, Validators)
    }

    /// The destination of the bytes that a server sends.
    enum Sink: Sendable {
        /// They must be an image.
        case image
        /// They are written to a new file at this path. An incomplete file stays there.
        case file(String)

        fileprivate var accepted: String {
            switch self {
            case .image: "image/png, image/jpeg, image/webp"
            case .file: "video/*, audio/*, */*;q=0.5"
            }
        }
    }

    /// Fetches a file.
    ///
    /// - Parameter validators: Validators of the existing copy, if any.
    /// - Throws: `FileRefusal`, or `CancellationError`.
    func run(_ url: String, validators: Validators?, into sink: Sink = .image) async throws -> Answer {
        do {
            return try await withThrowingTaskGroup(of: Answer?.self) { group in
                group.addTask { try await follow(url, validators, sink) }
                group.addTask {
                    try await Task.sleep(for: timeLimit)
                    return nil
                }
                defer { group.cancelAll() }
                guard let answer = try await group.next() ?? nil else {
                    throw FileRefusal("was not received within \(timeLimit)")
                }
                return answer
            }
        } catch let error as FileRefusal {
            throw error
        } catch {
            try Task.checkCancellation()
            throw FileRefusal("cannot be fetched: \(Self.words(for: error))")
        }
    }

    private func follow(_ start: String, _ validators: Validators?, _ sink: Sink) async throws -> Answer {
        var text = start
        for _ in 0...Self.mostRedirects {
            let url = try Self.read(text)
            let addresses = try await addresses(of: url)
            switch try await request(url, at: addresses, validators, sink) {
            case .answer(let answer): return answer
            case .redirect(let location):
                guard let base = URL(string: text), let next = URL(string: location, relativeTo: base)?.absoluteString
                else { throw FileRefusal("redirects to an invalid URL") }
                text = next
            }
        }
        throw FileRefusal("redirects more than \(Self.mostRedirects) times")
    }

    private static func read(_ text: String) throws(FileRefusal) -> StreamURL {
        let url: StreamURL
        do {
            url = try StreamURL(text)
        } catch {
            throw FileRefusal("is not a URL that can be fetched: expected \(error.expected)")
        }
        guard url.scheme == .http || url.scheme == .https else {
            throw FileRefusal("cannot be fetched over \(url.scheme.rawValue): expected http:// or https://")
        }
        return url
    }

    /// Returns the host's addresses that may be connected to, at least one.
    private func addresses(of url: StreamURL) async throws(FileRefusal) -> [InternetAddress] {
        guard allowed.allows(url) else { throw Self.notAllowed(url.host) }
        let found = try await resolve(url.host, timeLimit)
        let good = found.filter { allowed.allows(url, at: $0) }
        guard !good.isEmpty else {
            guard let bad = found.first else { throw FileRefusal("cannot be fetched: \(url.host) has no address") }
            throw Self.notAllowed("\(url.host), which is at \(bad),")
        }
        return good
    }

    private static func notAllowed(_ place: String) -> FileRefusal {
        FileRefusal("may not be fetched: \(place) is not in sources.allow; add scheme://host[:port] there")
    }

    private enum Step {
        case answer(Answer)
        case redirect(String)
    }

    /// Tries up to four addresses, one after another, until one answers.
    private func request(
        _ url: StreamURL, at addresses: [InternetAddress], _ validators: Validators?, _ sink: Sink
    ) async throws -> Step {
        var last: (any Error)?
        for address in addresses.prefix(4) {
            do {
                return try await request(url, at: address, validators, sink)
            } catch let error as FileRefusal {
                throw error
            } catch {
                try Task.checkCancellation()
                last = error
            }
        }
        throw last ?? FileRefusal("cannot be fetched: \(url.host) has no address")
    }

    private func request(
        _ url: StreamURL, at address: InternetAddress, _ validators: Validators?, _ sink: Sink
    ) async throws -> Step {
        var configuration = HTTPClient.Configuration(redirectConfiguration: .disallow)
        configuration.dnsOverride = [url.host: "\(address)"]
        configuration.httpVersion = .http1Only
        configuration.timeout.connect = .seconds(4)
        let client = HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
        do {
            let step = try await exchange(client, url, validators, sink)
            try await client.shutdown()
            return step
        } catch {
            try? await client.shutdown()
            throw error
        }
    }

    private func exchange(
        _ client: HTTPClient, _ url: StreamURL, _ validators: Validators?, _ sink: Sink
    ) async throws -> Step {
        var request = HTTPClientRequest(url: url.textWithPlainHost)
        request.headers = ["accept": sink.accepted, "user-agent": "mixorchestrator"]
        if let tag = validators?.eTag { request.headers.add(name: "if-none-match", value: tag) }
        if let date = validators?.lastModified { request.headers.add(name: "if-modified-since", value: date) }
        let response = try await client.execute(request, deadline: .distantFuture)
        switch response.status.code {
        case 200:
            let new = Validators(
                eTag: response.headers.first(name: "etag"), lastModified: response.headers.first(name: "last-modified"))
            return .answer(try await take(response.body, new, sink))
        case 304 where validators != nil:
            return .answer(.unchanged)
        case 301, 302, 303, 307, 308:
            guard let location = response.headers.first(name: "location") else {
                throw FileRefusal("redirects without a location")
            }
            return .redirect(location)
        default:
            throw FileRefusal("cannot be fetched: the server answered \(response.status.code)")
        }
    }

    private func take(
        _ body: HTTPClientResponse.Body, _ validators: Validators, _ sink: Sink
    ) async throws -> Answer {
        let tooLarge = FileRefusal("has more than \(mostBytes) bytes")
        switch sink {
        case .image:
            var bytes: [UInt8] = []
            for try await buffer in body {
                bytes.append(contentsOf: buffer.readableBytesView)
                guard bytes.count <= mostBytes else { throw tooLarge }
            }
            return .image(bytes, try FileRefusal.header(of: bytes), validators)
        case .file(let path):
            let writer = try await offPool { () throws(FileRefusal) in try NewFile(path) }
            var size = 0
            for try await buffer in body {
                size += buffer.readableBytes
                guard size <= mostBytes else { throw tooLarge }
                try await offPool { () throws(FileRefusal) in try writer.write(buffer.readableBytesView) }
            }
            return .written(bytes: size, validators)
        }
    }

    /// Describes an error without the URL that some errors repeat.
    private static func words(for error: any Error) -> String {
        switch error {
        case let error as HTTPClientError: error.shortDescription
        case let error as IOError: String(cString: strerror(error.errnoCode))
        case is NIOConnectionError: "no server answers at that address"
        default: "\(type(of: error))"
        }
    }
}
