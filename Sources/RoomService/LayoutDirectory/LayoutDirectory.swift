import EncodedMedia
import Foundation
import LayoutEngine
import Logging
import MixModel
import ServiceLifecycle
import Synchronization
import TaskStore

/// Owns the layouts: applies file changes and API changes one after another, keeps every accepted version, and notifies
/// the rooms.
///
/// A saved file is on air before its version is stored: a full disk must not keep an operator's picture from viewers. A
/// change through the API is stored first and acknowledged afterwards. The nodes of a cluster share the versions: see
/// `LayoutDirectory+Sharing.swift`.
package actor LayoutDirectory: Service {
    package nonisolated let layouts: Layouts
    nonisolated let files: LayoutFiles
    let store: any TaskStore
    let registry: RoomRegistry
    let images: ImageStore
    let metrics: Metrics
    let logger: Logger
    /// Layout of rooms that select none. It cannot be deleted.
    let defaultLayout: String
    /// Whether other nodes change the same layouts.
    let isShared: Bool
    /// Layouts whose version in use could not be stored yet. Only kept if the layouts are shared.
    var unstored: Set<String> = []
    /// Stamps of files that hold an earlier version and could not be replaced.
    var outdated: [String: LayoutFiles.Stamp] = [:]
    private let watch: LayoutWatch
    private nonisolated let mailbox: AsyncStream<Message>
    private nonisolated let inbox: AsyncStream<Message>.Continuation
    private nonisolated let waiting = Mutex(0)
    /// Yields an element when other nodes may have changed layouts.
    private nonisolated let looks: AsyncStream<Void>
    private nonisolated let lookSignal: AsyncStream<Void>.Continuation
    /// The newest versions in the store, if the mailbox has a `shared`.
    private nonisolated let newest = Mutex<[LayoutVersion]?>(nil)

    private enum Message: Sendable {
        /// The file watch has findings.
        case files
        case image(ImageStore.News)
        /// The set of images shown by programs has changed.
        case imagesWanted
        /// The newest versions in the store were read.
        case shared
        case put(NewLayout, Reply<Change>)
        case rollBack(String, version: Int, LayoutPrecondition, Reply<Change>)
        case delete(String, LayoutPrecondition, AppID, Reply<Void>)
    }

    /// A layout received through the API.
    package struct NewLayout: Sendable {
        package var name: String
        package var template: LayoutTemplate
        package var content: [UInt8]
        package var origin: LayoutVersion.Origin
        var precondition: LayoutPrecondition
        /// Time of arrival, in ns of CLOCK_MONOTONIC.
        package var receivedAt: Int64

        package init(
            name: String, template: LayoutTemplate, content: [UInt8], origin: LayoutVersion.Origin,
            precondition: LayoutPrecondition, receivedAt: Int64
        ) {
            self.name = name
            self.template = template
            self.content = content
            self.origin = origin
            self.precondition = precondition
            self.receivedAt = receivedAt
        }
    }

    /// The result of a request.
    package struct Change: Hashable, Sendable {
        package var good: LayoutCatalogue.Good
        /// Whether the layout did not exist before.
        package var isNew: Bool
    }

    package init(
        directory: String, layouts: Layouts, store: any TaskStore, registry: RoomRegistry, images: ImageStore,
        metrics: Metrics, defaultLayout: String, isShared: Bool = false, logger: Logger
    ) throws(StartupError) {
        files = LayoutFiles(directory: directory)
        self.layouts = layouts
        self.store = store
        self.registry = registry
        self.images = images
        self.metrics = metrics
        self.defaultLayout = defaultLayout
        self.isShared = isShared
        self.logger = logger
        do {
            watch = try LayoutWatch(files: files)
        } catch {
            throw StartupError("the layouts directory \(directory) cannot be watched: \(error)")
        }
        (mailbox, inbox) = AsyncStream.makeStream()
        (looks, lookSignal) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    /// Reads the layouts, so that rooms can be planned. Call once, before `run`. A layout in use without a good file is
    /// taken from the store.
    package func restore() async throws(StoreError) {
        await images.restore()
        for version in try await store.newestLayoutVersions() {
            let content = try await store.layoutContent(of: version.layout, version: version.number)
            let template = content.flatMap { try? LayoutTemplate.decode($0, name: version.layout) }
            layouts.update { catalogue in
                guard let template, let content else { return catalogue.remember(version) }
                catalogue.remember(LayoutCatalogue.Good(template: template, content: content, version: version))
            }
        }
        let readings = await offPool { [files] in
            FileManager.default.fileExists(atPath: files.directory)
                ? files.list().layouts.sorted().map { ($0, files.read($0)) } : nil
        }
        if readings == nil {
            logger.warning(
                "there is no layouts directory at \(files.directory): only \"auto\" can be used until it is created")
        }
        let earlier = try await earlierVersions(among: readings ?? [])
        for (name, reading) in readings ?? [] where earlier[name] == nil {
            await take(reading, of: name, noticedAt: MonotonicClock.now(), isStart: true)
        }
        try await restoreShared(replacing: earlier)
        await wantImages()
        let used = try await store.rooms().map { $0.document.settings.layout ?? defaultLayout }
        layouts.update { $0.forgetDeleted(except: Set(used)) }
        for (name, entry) in layouts.catalogue.all where entry.isDeleted {
            logger.warning("layout \(name) has no file; rooms that use it keep its last good version")
        }
    }

    package func run() async throws {
        await withDiscardingTaskGroup { group in
            group.addTask { [watch, inbox] in
                for await _ in watch.signals { inbox.yield(.files) }
            }
            group.addTask { [images, inbox] in
                for await news in images.news { inbox.yield(.image(news)) }
            }
            group.addTask { [registry, inbox] in
                for await _ in registry.services.needs.imageNews { inbox.yield(.imagesWanted) }
            }
            group.addTask { await self.readNewest() }
            group.addTask { [images] in await images.run() }
            watch.start()
            await withGracefulShutdownHandler {
                for await message in mailbox { await handle(message) }
            } onGracefulShutdown: {
                self.inbox.finish()
            }
            watch.stop()
            group.cancelAll()
        }
    }

    /// Looks for changes by other nodes, soon.
    package nonisolated func look() { lookSignal.yield() }

    /// Reads the newest versions for each look. The mailbox does not wait for a store that does not answer: a saved file
    /// is on air without it.
    private nonisolated func readNewest() async {
        for await _ in looks {
            do throws(StoreError) {
                let versions = try await store.newestLayoutVersions()
                let isFirst = newest.withLock { waiting in
                    defer { waiting = versions }
                    return waiting == nil
                }
                if isFirst { inbox.yield(.shared) }
            } catch {
                logger.debug("layouts of other nodes cannot be read: \(error)")
            }
        }
    }

    // MARK: Requests

    /// Checks and stores a layout; the rooms that use it change immediately.
    package nonisolated func put(_ new: NewLayout) async throws(OrchestratorError) -> Change {
        try await ask { .put(new, $0) }
    }

    /// Makes an older version the newest one.
    package nonisolated func rollBack(
        _ name: String, to version: Int, _ precondition: LayoutPrecondition
    ) async throws(OrchestratorError) -> Change {
        try await ask { .rollBack(name, version: version, precondition, $0) }
    }

    package nonisolated func delete(
        _ name: String, _ precondition: LayoutPrecondition, for app: AppID
    ) async throws(OrchestratorError) {
        try await ask { .delete(name, precondition, app, $0) }
    }

    /// Maximum number of requests that wait at once.
    static let mailboxSize = 64
    /// Number of layouts beyond which the API creates no more. Operators may add any number of files.
    static let mostLayouts = 1000

    private nonisolated func ask<Answer: Sendable>(
        _ message: (Reply<Answer>) -> Message
    ) async throws(OrchestratorError) -> Answer {
        let isRoom = waiting.withLock { count in
            guard count < Self.mailboxSize else { return false }
            count += 1
            return true
        }
        guard isRoom else { throw .layoutsOverloaded }
        defer { waiting.withLock { $0 -= 1 } }
        let result: Result<Answer, OrchestratorError> = await withCheckedContinuation { continuation in
            let yielded = inbox.yield(message(Reply(continuation)))
            guard case .enqueued = yielded else { return continuation.resume(returning: .failure(.stopping)) }
        }
        return try result.get()
    }

    private func handle(_ message: Message) async {
        switch message {
        case .files: await takeFindings()
        case .image(let news): await take(news)
        case .imagesWanted: await wantImages()
        case .shared:
            let versions = newest.withLock { waiting in
                defer { waiting = nil }
                return waiting
            }
            await takeShared(versions ?? [])
        case .put(let new, let reply):
            reply.answer(await result { () throws(OrchestratorError) in try await perform(new) })
        case .rollBack(let name, let version, let precondition, let reply):
            reply.answer(
                await result { () throws(OrchestratorError) in try await performRollBack(name, version, precondition) })
        case .delete(let name, let precondition, let app, let reply):
            reply.answer(
                await result { () throws(OrchestratorError) in
                    try await performDelete(name, precondition, for: app)
                })
        }
    }

    private func result<Value: Sendable>(
        _ body: () async throws(OrchestratorError) -> Value
    ) async -> Result<Value, OrchestratorError> {
        do { return .success(try await body()) } catch { return .failure(error) }
    }

    // MARK: Files

    private func takeFindings() async {
        let findings = watch.take()
        for note in findings.notes { logger.warning("\(note)") }
        if findings.mayHaveMissedOthers {
            await images.filesChanged(nil)
        } else if !findings.others.isEmpty {
            await images.filesChanged(findings.others)
        }
        for (name, finding) in findings.layouts.sorted(by: { $0.key < $1.key }) {
            // A request may have written or deleted the file since it was read. Until the watch reads it again, its
            // older content would briefly replace the request's.
            let stamp = await offPool { [files] in files.stamp(of: name) }
            guard stamp == nil || stamp == finding.stamp else { continue }
            let reading = stamp == nil ? .gone : finding.reading
            guard !isIgnored(stamp, of: name) else { continue }
            await take(reading, of: name, noticedAt: findings.noticedAt, isStart: false)
        }
    }

    private func take(_ reading: LayoutReading, of name: String, noticedAt: Int64, isStart: Bool) async {
        let outcome = layouts.update { $0.take(reading, of: name, at: wallClock(), origin: .file) }
        // After a start, a file that matches the stored version is no news.
        if isStart, case .restored = outcome { return }
        await tell(outcome, of: name, noticedAt: noticedAt)
        await commitOrLog(outcome, of: name)
        if case .deleted = outcome { await forgetDeleted() }
    }

    /// Removes deleted layouts that no room uses.
    func forgetDeleted() async {
        // Without the store it is unknown which layouts are still in use.
        let deleted = layouts.catalogue.all.filter { $0.1.isDeleted }.map(\.0)
        guard let used = try? await registry.layoutUse(of: deleted, limit: 1).keys else { return }
        layouts.update { $0.forgetDeleted(except: Set(used).union([defaultLayout])) }
    }
}
