import AsyncHTTPClient
import EventSubscription
import Foundation
import ServiceLifecycle

/// Reads the statistics of media servers over HTTP, within limits of time and size that hold whatever the server
/// claims.
///
/// The URLs come from the configuration, and no others are requested: redirects are not followed.
struct InventoryFetch: Sendable {
    /// Maximum time for the statistics of one server, all pages together.
    var timeLimit: Duration = .seconds(5)
    /// Maximum size of a page, in bytes.
    var mostBytes = 16 << 20
    /// Maximum number of pages.
    var mostPages = 200

    /// The reason why the statistics could not be read. Contains nothing of the URL.
    struct Failure: Error, Hashable, Sendable {
        var reason: String

        init(_ reason: String) { self.reason = reason }
    }

    /// Returns the streams of one server.
    func streams(
        of inventory: any StreamInventory, at url: StreamURL, credentials: HookSecret?
    ) async throws(Failure) -> [MediaServerStream] {
        var configuration = HTTPClient.Configuration(redirectConfiguration: .disallow)
        configuration.httpVersion = .http1Only
        configuration.timeout.connect = .seconds(2)
        let client = HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
        let result: Result<[MediaServerStream], Failure>
        do {
            result = .success(try await bounded { try await list(inventory, url, credentials, client) })
        } catch let failure as Failure {
            result = .failure(failure)
        } catch let error as InputError {
            result = .failure(Failure("not the expected answer: \(error)"))
        } catch {
            result = .failure(Failure("cannot be reached: \(WebhookPost.words(for: error))"))
        }
        try? await client.shutdown()
        return try result.get()
    }

    private func bounded<Value: Sendable>(
        _ work: @escaping @Sendable () async throws -> Value
    ) async throws -> Value {
        try await withThrowingTaskGroup(of: Value?.self) { group in
            // A server that is slow must not hold up a shutdown.
            group.addTask { try await cancelWhenGracefulShutdown { try await work() } }
            group.addTask {
                try await Task.sleep(for: timeLimit)
                return nil
            }
            defer { group.cancelAll() }
            guard let value = try await group.next() ?? nil else {
                throw Failure("did not answer within \(timeLimit.components.seconds) s")
            }
            return value
        }
    }

    /// Returns the streams of all pages, some of them twice.
    ///
    /// A list of several pages is read twice: if a stream ends between two requests, another one moves to a page that
    /// was read before.
    private func list(
        _ inventory: any StreamInventory, _ url: StreamURL, _ credentials: HookSecret?, _ client: HTTPClient
    ) async throws -> [MediaServerStream] {
        let first = try await pages(inventory, url, credentials, client)
        guard first.count > 1 else { return first.streams }
        let second = try await pages(inventory, url, credentials, client)
        return first.streams + second.streams
    }

    private func pages(
        _ inventory: any StreamInventory, _ url: StreamURL, _ credentials: HookSecret?, _ client: HTTPClient
    ) async throws -> (streams: [MediaServerStream], count: Int) {
        var streams: [MediaServerStream] = []
        for page in 0..<mostPages {
            var request = HTTPClientRequest(url: inventory.url(ofPage: page, of: url))
            request.headers.add(name: "user-agent", value: "mixorchestrator/\(ServiceVersion.text)")
            if let credentials {
                let text = Data(credentials.bytes).base64EncodedString()
                request.headers.add(name: "authorization", value: "Basic \(text)")
            }
            let response = try await client.execute(request, deadline: .distantFuture)
            guard response.status == .ok else { throw Failure("answered \(response.status.code) instead of 200") }
            var body: [UInt8] = []
            for try await buffer in response.body {
                body.append(contentsOf: buffer.readableBytesView)
                guard body.count <= mostBytes else { throw Failure("answered more than \(mostBytes) bytes") }
            }
            let found = try inventory.page(body, of: url)
            streams += found.streams
            if found.isLast { return (streams, page + 1) }
        }
        throw Failure("lists more than \(mostPages) pages")
    }
}
