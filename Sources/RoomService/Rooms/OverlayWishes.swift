import LayoutEngine
import MixModel
import Synchronization

/// The web pages shown over programs, by task. Thread-safe.
package final class OverlayWishes: Sendable {
    private let pages = Mutex<[TaskID: Set<OverlayPage>]>([:])
    /// Yields after a change. For a single reader.
    let changes: AsyncStream<Void>
    private let change: AsyncStream<Void>.Continuation

    package init() { (changes, change) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1)) }

    /// Records the scene that a task is to show; `nil` = it no longer shows one.
    func show(_ scene: Scene?, by task: TaskID) {
        let wanted = Set(scene?.overlays.compactMap(OverlayPage.init) ?? [])
        let isOther = pages.withLock { pages in
            let before = pages[task] ?? []
            guard before != wanted else { return false }
            pages[task] = wanted.isEmpty ? nil : wanted
            return true
        }
        if isOther { change.yield() }
    }

    /// The pages of all tasks.
    var all: Set<OverlayPage> { pages.withLock { $0.values.reduce(into: []) { $0.formUnion($1) } } }

    func pages(of task: TaskID) -> Set<OverlayPage> { pages.withLock { $0[task] ?? [] } }

    /// Makes the reader check again.
    func remind() { change.yield() }
}
