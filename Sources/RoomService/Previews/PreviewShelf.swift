import MixModel
import Synchronization

/// Previews of one kind. Simultaneous requests for the same preview share one result. Thread-safe.
final class PreviewShelf<Content: Sendable>: Sendable {
    private let store: Mutex<PreviewStore<Content>>

    init(most: Int, interval: Duration) { store = Mutex(PreviewStore(most: most, interval: interval)) }

    /// The last content, however old; `nil` if there is none.
    func last(of key: PreviewKey) -> Content? { store.withLock { $0.last(of: key) } }

    /// Returns the kept preview, waits for one that another request is making, or makes it.
    func value(
        of key: PreviewKey, make: () async throws(OrchestratorError) -> Content
    ) async throws(OrchestratorError) -> Content {
        while true {
            switch store.withLock({ $0.step(for: key, at: .now) }) {
            case .take(let result): return try result.get()
            case .wait:
                await withCheckedContinuation { continuation in
                    let waits = store.withLock { $0.wait(for: key, continuation) }
                    if !waits { continuation.resume() }
                }
            case .make:
                let result: Result<Content, OrchestratorError>
                do throws(OrchestratorError) {
                    result = .success(try await make())
                } catch {
                    result = .failure(error)
                }
                for waiting in store.withLock({ $0.made(key, result, at: .now) }) { waiting.resume() }
                return try result.get()
            }
        }
    }
}
