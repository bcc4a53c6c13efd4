import Crypto
import EncodedMedia
import EventSubscription
import Foundation
import Logging
import MixModel
import ServiceLifecycle
import TextFormats

/// Keeps local copies of idle media given by URL, in `media/` of the data directory.
///
/// Mixers have no network access. New content is stored in a new file, so that a mixer that plays the old file is not
/// disturbed.
package actor MediaDownloads: Service {
    private let library: MediaLibrary
    private let registry: RoomRegistry
    private let fetch: FileFetch
    private let logger: Logger
    private var inventory: ImageInventory
    /// Files in the index as last written.
    private var lastFiles: Set<String> = []
    private nonisolated let wakeUps: AsyncStream<Void>
    private nonisolated let wakeUp: AsyncStream<Void>.Continuation

    /// Maximum size of a file, in bytes.
    static let mostBytes = 2 << 30
    /// Maximum size of all copies, in bytes. Copies in use stay, and a new one that would not fit beside them is
    /// refused.
    static let mostBytesOfAll = 8 << 30
    /// Timeout for one file.
    static let timeLimit: Duration = .seconds(1800)
    private static let indexName = "index.json"

    package init(registry: RoomRegistry, allowed: AllowList, logger: Logger) {
        self.init(registry: registry, allowed: allowed, logger: logger, schedule: ImageInventory.Schedule())
    }

    init(registry: RoomRegistry, allowed: AllowList, logger: Logger, schedule: ImageInventory.Schedule) {
        library = registry.services.media
        self.registry = registry
        fetch = FileFetch(allowed: allowed, timeLimit: Self.timeLimit, mostBytes: Self.mostBytes)
        self.logger = logger
        inventory = ImageInventory(schedule: schedule)
        (wakeUps, wakeUp) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    /// Restores the copies from before a restart. Call once, before rooms are restored.
    package func restore() async {
        let directory = library.downloads
        let index = await offPool { Self.load(directory) }
        for (url, copy) in index { inventory.remember(url, copy) }
        library.setCopies(inventory.files)
    }

    package func run() async throws {
        await withGracefulShutdownHandler {
            await withDiscardingTaskGroup { group in
                group.addTask { [wakeUp, needs = registry.services.needs] in
                    for await _ in needs.mediaNews { wakeUp.yield() }
                }
                group.addTask { [wakeUp] in
                    while (try? await Task.sleep(for: .seconds(1))) != nil { wakeUp.yield() }
                }
                for await _ in wakeUps {
                    want()
                    for url in inventory.takeDue(now: MonotonicClock.now()) {
                        group.addTask { await self.download(url) }
                    }
                }
                group.cancelAll()
            }
        } onGracefulShutdown: {
            self.wakeUp.finish()
        }
    }

    private func want() {
        let wanted = registry.services.needs.media
        guard wanted != inventory.wanted else { return }
        for excess in inventory.want([], ofPrograms: wanted) {
            logger.warning("idle media \(IdleSettings.name(of: excess)): rooms name more than \(ImageInventory.most)")
        }
    }

    private func download(_ url: String) async {
        let begin = MonotonicClock.now()
        let name = "\(Self.digest(url))-\(String(UInt32.random(in: 0 ... .max), radix: 16))"
        let temporary = "\(library.downloads)/.\(name)"
        do {
            try await offPool { [library] () throws(FileRefusal) in try Self.prepare(library.downloads) }
            let answer = try await fetch.run(
                url, validators: inventory.items[url]?.copy?.validators, into: .file(temporary))
            var copy: ImageInventory.Copy?
            if case .written(let bytes, let validators) = answer {
                try makeRoom(for: bytes)
                guard rename(temporary, "\(library.downloads)/\(name)") == 0 else {
                    throw FileRefusal("cannot be stored: \(String(cString: strerror(errno)))")
                }
                copy = ImageInventory.Copy(file: name, bytes: bytes, validators: validators)
            }
            if inventory.succeeded(url, copy, now: MonotonicClock.now()) { await took(url, at: begin) }
        } catch let error as FileRefusal {
            unlink(temporary)
            await failed(url, "\(error)")
        } catch {
            // Cancelled, because the service is stopping.
            unlink(temporary)
            _ = inventory.failed(url, "was not fetched", now: MonotonicClock.now())
        }
        wakeUp.yield()
    }

    private func makeRoom(for bytes: Int) throws(FileRefusal) {
        let used = inventory.items.filter { inventory.wanted.contains($0.key) }
            .reduce(0) { $0 + ($1.value.copy?.bytes ?? 0) }
        guard used + bytes <= Self.mostBytesOfAll else {
            throw FileRefusal("is not kept: the media in use take \(used) bytes, the limit is \(Self.mostBytesOfAll)")
        }
    }

    private func took(_ url: String, at begin: Int64) async {
        library.setCopies(inventory.files)
        let name = IdleSettings.name(of: url)
        logger.info("idle media \(name) are available")
        registry.services.needs.imageChanged(
            url, cause: Cause(receivedAt: begin, summary: "idle media \(name) are available"))
        await tidy()
    }

    private func failed(_ url: String, _ reason: String) async {
        guard inventory.failed(url, reason, now: MonotonicClock.now()) else { return }
        let message = "idle media \(IdleSettings.name(of: url)) \(reason)"
        logger.warning("\(message)")
        await registry.noteFailure(TimelineEntry(kind: .event, message: message, cause: "idle media"), ofImage: url)
    }

    /// Writes the index, and removes files that are no longer wanted. A replaced file stays until the next call,
    /// because a mixer may be about to open it.
    private func tidy() async {
        let wanted = inventory.wanted
        for (url, item) in inventory.items where !wanted.contains(url) {
            if let file = item.copy?.file { inventory.forget(file: file) }
        }
        let index = inventory.items.compactMapValues(\.copy)
        let files = Set(index.values.map(\.file))
        let (directory, kept) = (library.downloads, files.union(lastFiles))
        lastFiles = files
        let saved = await offPool { Self.store(index, in: directory, keeping: kept) }
        if !saved { logger.warning("the index of idle media cannot be written in \(directory)") }
    }

    // MARK: Disk

    private static func digest(_ text: String) -> String {
        Hexadecimal.text(SHA256.hash(data: Data(text.utf8)).prefix(16))
    }

    /// Reads the index, and removes files that it does not name.
    private static func load(_ directory: String) -> [String: ImageInventory.Copy] {
        let data = try? BoundedFile.read("\(directory)/\(indexName)", limit: 4 << 20)
        let index =
            data.flatMap { try? JSONDecoder().decode([String: ImageInventory.Copy].self, from: Data($0)) } ?? [:]
        let files = Set((try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? [])
        let known = index.filter { files.contains($0.value.file) }
        for file in files.subtracting(known.values.map(\.file)).subtracting([indexName]) {
            unlink("\(directory)/\(file)")
        }
        return known
    }

    private static func prepare(_ directory: String) throws(FileRefusal) {
        do {
            try FileManager.default.createDirectory(
                atPath: directory, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        } catch {
            throw FileRefusal("cannot be stored in \(directory)")
        }
    }

    /// Writes the index and removes all files except those to keep. A removed file stays readable for a mixer that has
    /// it open.
    private static func store(
        _ index: [String: ImageInventory.Copy], in directory: String, keeping kept: Set<String>
    ) -> Bool {
        guard let json = try? JSONEncoder().encode(index) else { return false }
        let temporary = "\(directory)/.\(indexName).\(UInt32.random(in: 0 ... .max))"
        guard (try? BoundedFile.write(Array(json), to: temporary, mode: 0o600)) != nil,
            rename(temporary, "\(directory)/\(indexName)") == 0
        else {
            unlink(temporary)
            return false
        }
        for file in (try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? []
        where !file.hasPrefix(".") && file != indexName && !kept.contains(file) {
            unlink("\(directory)/\(file)")
        }
        return true
    }
}
