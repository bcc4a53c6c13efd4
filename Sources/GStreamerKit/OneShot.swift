import Synchronization

/// Runs a small pipeline for one input and one result, then tears it down.
enum OneShot {
    /// Runs `description`, which has an `appsrc name=in` and an `appsink name=out`.
    ///
    /// - Parameters:
    ///   - name: Name of the pipeline in logs and errors.
    ///   - limit: Time for the whole run. A pipeline that hangs beyond it is torn down in the background.
    ///   - feed: Gives the source its caps and data; the end of the stream is added.
    ///   - keep: Called on a streaming thread for every sample; the first value that is not `nil` is the result.
    /// - Throws: The error from creating or starting the pipeline; `.syntax` if it reported an error or ended without a
    ///   result; `.resource` if the time is over or the task is cancelled.
    static func run<Result: Sendable>(
        _ description: String, name: String, limit: Duration, feed: (AppSource) throws(GStreamerError) -> Void,
        keep: @escaping @Sendable (borrowing Sample) -> Result?
    ) async throws(GStreamerError) -> Result {
        let pipeline = try Pipeline(description, name: name)
        let result = Slot<Result>()
        do throws(GStreamerError) {
            try pipeline.appSink("out") { sample in result.fill { keep(sample) } }
            let source = try pipeline.appSource("in")
            try await pipeline.play()
            try feed(source)
            source.endOfStream()
        } catch {
            await pipeline.tearDown(within: .seconds(1))
            throw error
        }
        let ended = await pipeline.waitForEnd(atMost: limit)
        let failure = pipeline.firstError
        await pipeline.tearDown(within: .seconds(1))
        if let value = result.value { return value }
        if let failure { throw GStreamerError(.syntax, "\(name): \(failure.message)") }
        guard ended else {
            throw GStreamerError(.resource, "\(name): " + (Task.isCancelled ? "cancelled" : "timed out (\(limit))"))
        }
        throw GStreamerError(.syntax, "\(name): it contains no picture")
    }

    private final class Slot<Value: Sendable>: Sendable {
        private let content = Mutex<Value?>(nil)

        var value: Value? { content.withLock { $0 } }

        func fill(_ make: () -> Value?) {
            content.withLock { content in
                if content == nil { content = make() }
            }
        }
    }
}
