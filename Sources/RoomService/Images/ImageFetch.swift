import AsyncHTTPClient
import EventSubscription
import Foundation
import MediaFormats
import MixModel
import NIOCore
import NIOPosix
import TextFormats

/// Fetches one image over HTTP.
///
/// Only allowed places are contacted, within limits of time and size that are enforced regardless of what the server
/// states.
///
/// Each host is resolved here, its addresses are checked, and the connection goes to a checked address. A name whose
/// address changes in between therefore leads nowhere else. The same applies to each redirect.
package struct ImageFetch: Sendable {
    package var allowed: AllowList
    /// Maximum time for the whole fetch: resolving, connecting, redirects and the body.
    var timeLimit: Duration = .seconds(10)
    /// Maximum size of an image, in bytes.
    package var mostBytes = ImageHeader.mostBytes
    /// Resolves a host to its addresses.
    var resolve: @Sendable (_ host: String, _ limit: Duration) async throws(ImageRefusal) -> [InternetAddress] =
        HostAddresses.lookUp

    package init(
        allowed: AllowList, timeLimit: Duration = .seconds(10), mostBytes: Int = ImageHeader.mostBytes,
        resolve:
            @escaping @Sendable (_ host: String, _ limit: Duration) async throws(ImageRefusal) -> [InternetAddress] =
            HostAddresses.lookUp
    ) {
        self.allowed = allowed
        self.timeLimit = timeLimit
        self.mostBytes = mostBytes
        self.resolve = resolve
    }

    static let mostRedirects = 3

    /// Values with which a server can state that an image has not changed.
    struct Validators: Hashable, Codable, Sendable {
        var eTag: String?
        var lastModified: String?
    }

    enum Answer: Sendable {
        case unchanged
        case image([UInt8], ImageHeader, Validators)
    }

    /// Fetches an image.
    ///
    /// - Parameter validators: Validators of the existing copy, if any.
    /// - Throws: `ImageRefusal`, or `CancellationError`.
    func run(_ url: String, validators: Validators?) async throws -> Answer {
        do {
            return try await withThrowingTaskGroup(of: Answer?.self) { group in
                group.addTask { try await follow(url, validators) }
                group.addTask {
                    try await Task.sleep(for: timeLimit)
                    return nil
                }
                defer { group.cancelAll() }
                guard let answer = try await group.next() ?? nil else {
                    throw ImageRefusal("was not received within \(timeLimit)")
                }
                return answer
            }
        } catch let error as ImageRefusal {
            throw error
        } catch {
            try Task.checkCancellation()
            throw ImageRefusal("cannot be fetched: \(Self.words(for: error))")
        }
    }

    private func follow(_ start: String, _ validators: Validators?) async throws -> Answer {
        var text = start
        for _ in 0...Self.mostRedirects {
            let url = try Self.read(text)
            let addresses = try await addresses(of: url)
            switch try await request(url, at: addresses, validators) {
            case .answer(let answer): return answer
            case .redirect(let location):
                guard let base = URL(string: text), let next = URL(string: location, relativeTo: base)?.absoluteString
                else { throw ImageRefusal("redirects to an invalid URL") }
                text = next
            }
        }
        throw ImageRefusal("redirects more than \(Self.mostRedirects) times")
    }

    private static func read(_ text: String) throws(ImageRefusal) -> StreamURL {
        let url: StreamURL
        do {
            url = try StreamURL(text)
        } catch {
            throw ImageRefusal("is not a URL that can be fetched: expected \(error.expected)")
        }
        guard url.scheme == .http || url.scheme == .https else {
            throw ImageRefusal("cannot be fetched over \(url.scheme.rawValue): expected http:// or https://")
        }
        return url
    }

    /// Returns the host's addresses that may be connected to, at least one.
    private func addresses(of url: StreamURL) async throws(ImageRefusal) -> [InternetAddress] {
        guard allowed.allows(url) else { throw Self.notAllowed(url.host) }
        let found = try await resolve(url.host, timeLimit)
        let good = found.filter { allowed.allows(url, at: $0) }
        guard !good.isEmpty else {
            guard let bad = found.first else { throw ImageRefusal("cannot be fetched: \(url.host) has no address") }
            throw Self.notAllowed("\(url.host), which is at \(bad),")
        }
        return good
    }

    private static func notAllowed(_ place: String) -> ImageRefusal {
        ImageRefusal("may not be fetched: \(place) is not in sources.allow; add scheme://host[:port] there")
    }

    private enum Step {
        case answer(Answer)
        case redirect(String)
    }

    /// Tries up to four addresses, one after another, until one answers.
    private func request(
        _ url: StreamURL, at addresses: [InternetAddress], _ validators: Validators?
    ) async throws -> Step {
        var last: (any Error)?
        for address in addresses.prefix(4) {
            do {
                return try await request(url, at: address, validators)
            } catch let error as ImageRefusal {
                throw error
            } catch {
                try Task.checkCancellation()
                last = error
            }
        }
        throw last ?? ImageRefusal("cannot be fetched: \(url.host) has no address")
    }

    private func request(
        _ url: StreamURL, at address: InternetAddress, _ validators: Validators?
    ) async throws -> Step {
        var configuration = HTTPClient.Configuration(redirectConfiguration: .disallow)
        configuration.dnsOverride = [url.host: "\(address)"]
        configuration.httpVersion = .http1Only
        configuration.timeout.connect = .seconds(4)
        let client = HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
        do {
            let step = try await exchange(client, url, validators)
            try await client.shutdown()
            return step
        } catch {
            try? await client.shutdown()
            throw error
        }
    }

    private func exchange(_ client: HTTPClient, _ url: StreamURL, _ validators: Validators?) async throws -> Step {
        var request = HTTPClientRequest(url: url.text)
        request.headers = ["accept": "image/png, image/jpeg, image/webp", "user-agent": "mixorchestrator"]
        if let tag = validators?.eTag { request.headers.add(name: "if-none-match", value: tag) }
        if let date = validators?.lastModified { request.headers.add(name: "if-modified-since", value: date) }
        let response = try await client.execute(request, deadline: .distantFuture)
        switch response.status.code {
        case 200:
            var bytes: [UInt8] = []
            for try await buffer in response.body {
                bytes.append(contentsOf: buffer.readableBytesView)
                guard bytes.count <= mostBytes else { throw ImageRefusal("has more than \(mostBytes) bytes") }
            }
            let new = Validators(
                eTag: response.headers.first(name: "etag"), lastModified: response.headers.first(name: "last-modified"))
            return .answer(.image(bytes, try ImageRefusal.header(of: bytes), new))
        case 304 where validators != nil:
            return .answer(.unchanged)
        case 301, 302, 303, 307, 308:
            guard let location = response.headers.first(name: "location") else {
                throw ImageRefusal("redirects without a location")
            }
            return .redirect(location)
        default:
            throw ImageRefusal("cannot be fetched: the server answered \(response.status.code)")
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
