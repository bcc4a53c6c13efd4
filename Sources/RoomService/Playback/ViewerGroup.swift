import NIOCore

/// The viewers of one program whose connections are on one event loop. Lives on that loop.
///
/// Batches are written to one viewer after another on the loop itself: a thousand viewers cost one hop.
final class ViewerGroup {
    private(set) var window: ProgramWindow
    private var viewers: [ViewerHandler] = []
    private var isOver = false
    private let figures: PlaybackFigures

    init(window: ProgramWindow, figures: PlaybackFigures) {
        self.window = window
        self.figures = figures
    }

    func deliver(_ batches: [FLVBatch]) {
        for batch in batches { window.append(batch) }
        // A copy, because a write may reveal that a viewer is gone.
        for viewer in viewers { viewer.pump() }
        figures.flush()
    }

    /// Adds a viewer.
    ///
    /// - Parameters:
    ///   - channel: The viewer's connection, on the group's event loop.
    ///   - neighbour: Handler before which the viewer's handler is inserted.
    /// - Returns: A future that succeeds when the program has ended and the viewer has all of it, and fails when the
    ///   viewer is gone.
    func add(_ channel: any Channel, before neighbour: any ChannelHandler) throws -> EventLoopFuture<Void> {
        let done = channel.eventLoop.makePromise(of: Void.self)
        let viewer = ViewerHandler(self, done: done)
        do {
            try channel.pipeline.syncOperations.addHandler(viewer, position: .before(neighbour))
        } catch {
            done.fail(error)
            throw error
        }
        viewer.index = viewers.count
        viewers.append(viewer)
        if isOver { viewer.end() } else { viewer.pump() }
        figures.flush()
        return done.futureResult
    }

    func remove(_ viewer: ViewerHandler) {
        guard viewers.indices.contains(viewer.index), viewers[viewer.index] === viewer else { return }
        viewers.swapAt(viewer.index, viewers.count - 1)
        viewers[viewer.index].index = viewer.index
        viewers.removeLast()
    }

    /// Ends the program; viewers still receive the rest.
    func end() {
        isOver = true
        for viewer in viewers { viewer.end() }
        figures.flush()
    }

    func count(bytes: Int, skips: Int) { figures.add(bytes: bytes, skips: skips) }

    /// Reports the collected figures.
    func tell() { figures.flush() }
}
