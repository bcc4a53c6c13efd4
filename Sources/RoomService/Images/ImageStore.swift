import Crypto
import EncodedMedia
import EventSubscription
import Foundation
import Logging
import MediaFormats
import MixModel
import TextFormats

/// Checked local copies of the images named by layouts and programs.
///
/// Images are fetched or read, checked again periodically, and kept in `images/` of the data directory. A mixer opens
/// no other images.
package actor ImageStore {
    /// A change of an image that affects rooms.
    struct News: Hashable, Sendable {
        enum Kind: Hashable, Sendable {
            /// The image available under this reference has changed.
            case changed
            case failed(String)
        }
        /// The reference as written in layouts. A URL may contain a secret.
        var reference: String
        var kind: Kind
        /// Time at which the check began, in ns of CLOCK_MONOTONIC.
        var noticedAt: Int64
    }

    /// The state of an image as the API shows it.
    package struct Status: Hashable, Encodable {
        package enum State: String, Encodable { case ready, waiting, failed }
        /// The reference, without a URL's query.
        package var image: String
        /// `ready` while there is a copy, even an outdated one.
        package var state: State
        package var error: String?

        package init(image: String, state: State, error: String? = nil) {
            self.image = image
            self.state = state
            self.error = error
        }
    }

    nonisolated let news: AsyncStream<News>
    private nonisolated let newsman: AsyncStream<News>.Continuation
    private nonisolated let wakeUps: AsyncStream<Void>
    private nonisolated let wakeUp: AsyncStream<Void>.Continuation
    private let directory: String
    private let files: ImageFiles
    private let fetch: FileFetch
    private let metrics: Metrics
    private let logger: Logger
    private var inventory: ImageInventory
    /// Sizes in bytes and last uses of the files on disk.
    private var sizes: [String: (bytes: Int, lastUse: Int64)] = [:]

    /// Maximum size of all files on disk, in bytes. Images in use stay, and new ones that would not fit beside them are
    /// refused.
    static let mostBytes = 512 << 20
    private static let indexName = "index.json"
    private static let tick: Duration = .milliseconds(500)

    /// - Parameters:
    ///   - data: The data directory.
    ///   - layouts: Directory of the layouts.
    package init(data: String, layouts: String, fetch: FileFetch, metrics: Metrics, logger: Logger) {
        self.init(
            data: data, layouts: layouts, fetch: fetch, metrics: metrics, logger: logger,
            schedule: ImageInventory.Schedule())
    }

    init(
        data: String, layouts: String, fetch: FileFetch, metrics: Metrics, logger: Logger,
        schedule: ImageInventory.Schedule
    ) {
        directory = data + "/images"
        files = ImageFiles(directory: layouts)
        self.fetch = fetch
        self.metrics = metrics
        self.logger = logger
        inventory = ImageInventory(schedule: schedule)
        (news, newsman) = AsyncStream.makeStream()
        (wakeUps, wakeUp) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    /// Paths of the copies, by the layouts' references.
    var paths: [String: String] { inventory.files.mapValues { "\(directory)/\($0)" } }

    package var failedCount: Int { inventory.failedCount }

    package func status(of references: Set<String>) -> [Status] {
        references.sorted().map { reference in
            let item = inventory.items[reference]
            let state: Status.State = item?.copy != nil ? .ready : item?.failure != nil ? .failed : .waiting
            return Status(image: Self.shown(reference), state: state, error: item?.failure)
        }
    }

    /// Returns a reference for display and logs, without a URL's query and fragment.
    static func shown(_ reference: String) -> String {
        guard isURL(reference) else { return reference }
        return String(decoding: reference.utf8.prefix { !"?#".utf8.contains($0) }, as: UTF8.self)
    }

    private static func isURL(_ reference: String) -> Bool { reference.contains("://") }

    // MARK: Wanted images

    /// Restores the copies from before a restart. Call this once, before anything else.
    func restore() async {
        let directory = directory
        let (index, found) = await offPool { Self.load(directory) }
        let now = MonotonicClock.now()
        for (file, bytes) in found { sizes[file] = (bytes, now) }
        for (reference, copy) in index where found[copy.file] != nil { inventory.remember(reference, copy) }
    }

    /// Replaces the wanted images of layouts and programs.
    ///
    /// New images of layouts that are files are checked before this returns, so that a layout saved together with its
    /// images is never shown without them.
    func want(_ references: Set<String>, ofPrograms others: Set<String> = []) async {
        let isNew = references.filter { inventory.items[$0] == nil && !Self.isURL($0) }
        for excess in inventory.want(references, ofPrograms: others) {
            logger.warning(
                "image \(Self.shown(excess)) is not used: layouts or programs name more than \(ImageInventory.most) images"
            )
        }
        for reference in isNew where inventory.take(reference) { await check(reference, isQuiet: true) }
        wakeUp.yield()
    }

    /// Checks images that are files, so that they can be shown as soon as they are wanted.
    ///
    /// - Returns: The reasons why some cannot be used, by their references.
    func prepare(_ references: Set<String>) async -> [String: String] {
        var reasons: [String: String] = [:]
        for reference in references.sorted() where !Self.isURL(reference) {
            do {
                guard case .image(let bytes, let header, let validators) = try await look(reference) else { continue }
                let copy = try await keep(bytes, header.kind, validators)
                inventory.provide(reference, copy, now: MonotonicClock.now())
            } catch {
                reasons[reference] = (error as? FileRefusal).map { "\($0)" } ?? "cannot be read"
            }
        }
        return reasons
    }

    /// Marks files of the layouts directory as written or removed. `nil` = any of them may have changed.
    func filesChanged(_ paths: Set<String>?) {
        for reference in inventory.wanted where !Self.isURL(reference) && paths?.contains(reference) ?? true {
            inventory.outdate(reference)
        }
        wakeUp.yield()
    }

    /// Checks images as they become due, until cancelled.
    func run() async {
        await withDiscardingTaskGroup { group in
            group.addTask { [wakeUp] in
                while (try? await Task.sleep(for: Self.tick)) != nil { wakeUp.yield() }
            }
            for await _ in wakeUps {
                for reference in inventory.takeDue(now: MonotonicClock.now()) {
                    group.addTask { await self.check(reference, isQuiet: false) }
                }
            }
            group.cancelAll()
        }
        newsman.finish()
    }

    // MARK: Checking

    /// Checks an image and records the result.
    ///
    /// - Parameter isQuiet: Whether to omit the news of a changed image, because the caller sees the change itself.
    private func check(_ reference: String, isQuiet: Bool) async {
        let begin = MonotonicClock.now()
        do {
            let found = try await look(reference)
            var copy: ImageInventory.Copy?
            if case .image(let bytes, let header, let validators) = found {
                copy = try await keep(bytes, header.kind, validators)
            }
            metrics.count(.imageFetches, copy == nil ? "unchanged" : "fetched")
            let isDifferent = inventory.succeeded(reference, copy, now: MonotonicClock.now())
            if copy != nil { await tidy() }
            if isDifferent, !isQuiet { newsman.yield(News(reference: reference, kind: .changed, noticedAt: begin)) }
        } catch let error as FileRefusal {
            metrics.count(.imageFetches, "failed")
            guard inventory.failed(reference, "\(error)", now: MonotonicClock.now()) else { return }
            logger.warning("image \(Self.shown(reference)) \(error)")
            newsman.yield(News(reference: reference, kind: .failed("\(error)"), noticedAt: begin))
        } catch {
            // Cancelled, because the service is stopping.
            _ = inventory.failed(reference, "was not checked", now: MonotonicClock.now())
        }
        wakeUp.yield()
    }

    private func look(_ reference: String) async throws -> FileFetch.Answer {
        if Self.isURL(reference) {
            return try await fetch.run(reference, validators: inventory.items[reference]?.copy?.validators)
        }
        let files = files
        let (bytes, header) = try await offPool { () throws(FileRefusal) in try files.read(reference) }
        return .image(bytes, header, FileFetch.Validators())
    }

    private func keep(
        _ bytes: [UInt8], _ kind: ImageHeader.Kind, _ validators: FileFetch.Validators
    ) async throws(FileRefusal) -> ImageInventory.Copy {
        let directory = directory
        let name = await offPool {
            Hexadecimal.text(SHA256.hash(data: bytes)) + ".\(kind.rawValue)"
        }
        if sizes[name] == nil {
            let used = inventory.filesInUse.reduce(0) { $0 + (sizes[$1]?.bytes ?? 0) }
            guard used + bytes.count <= Self.mostBytes else {
                throw FileRefusal("is not kept: the images in use take \(used) bytes, the limit is \(Self.mostBytes)")
            }
            try await offPool { () throws(FileRefusal) in try Self.store(bytes, name, in: directory) }
        }
        sizes[name] = (bytes.count, MonotonicClock.now())
        return ImageInventory.Copy(file: name, bytes: bytes.count, validators: validators)
    }

    /// Writes the index and removes files above the limit.
    private func tidy() async {
        let now = MonotonicClock.now()
        for file in inventory.filesInUse { sizes[file]?.lastUse = now }
        let gone = inventory.evictions(
            sizes.map { ($0.key, $0.value.bytes, $0.value.lastUse) }, limit: Self.mostBytes)
        for file in gone {
            sizes[file] = nil
            inventory.forget(file: file)
        }
        let index = inventory.items.compactMapValues(\.copy)
        let directory = directory
        do {
            try await offPool { () throws(FileRefusal) in
                for file in gone { unlink("\(directory)/\(file)") }
                guard let json = try? JSONEncoder().encode(index) else { return }
                try Self.store(Array(json), Self.indexName, in: directory)
            }
        } catch {
            logger.warning("the index of images \(error)")
        }
    }

    // MARK: Disk

    private static func load(_ directory: String) -> (index: [String: ImageInventory.Copy], files: [String: Int]) {
        let index = try? BoundedFile.read("\(directory)/\(indexName)", limit: 4 << 20)
        var sizes: [String: Int] = [:]
        for file in (try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? [] where file != indexName {
            let path = "\(directory)/\(file)"
            // Remove files that a crash left incomplete.
            guard !file.hasPrefix(".") else {
                unlink(path)
                continue
            }
            let attributes = try? FileManager.default.attributesOfItem(atPath: path)
            // Pictures of pages are in a directory of their own.
            guard attributes?[.type] as? FileAttributeType == .typeRegular else { continue }
            sizes[file] = attributes?[.size] as? Int
        }
        return (
            index.flatMap { try? JSONDecoder().decode([String: ImageInventory.Copy].self, from: Data($0)) } ?? [:],
            sizes
        )
    }

    /// Writes a file that only the service's user can read, because the images may not be public yet.
    private static func store(_ bytes: [UInt8], _ name: String, in directory: String) throws(FileRefusal) {
        let temporary = "\(directory)/.\(name).\(UInt32.random(in: 0 ... .max))"
        do {
            try FileManager.default.createDirectory(
                atPath: directory, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
            try BoundedFile.write(bytes, to: temporary, mode: 0o600)
        } catch {
            unlink(temporary)
            throw FileRefusal("cannot be stored in \(directory): \(error)")
        }
        guard rename(temporary, "\(directory)/\(name)") == 0 else {
            unlink(temporary)
            throw FileRefusal("cannot be stored in \(directory): \(String(cString: strerror(errno)))")
        }
    }
}
