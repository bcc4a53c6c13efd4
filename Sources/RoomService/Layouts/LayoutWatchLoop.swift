import EncodedMedia
import Foundation

/// The loop of the watching thread: waits for events, decides when a file can be read, and reads it.
///
/// A file is read when its writer has closed it or it was moved into place. Where no event reports that (a scanned
/// directory, a link, a machine without inotify), the file is read when it has stopped changing. If it is then invalid,
/// it may be half-written and is given 1 s. A missing file may be about to return and is given 300 ms.
struct LayoutWatchLoop {
    private enum Look {
        /// The file was closed by its writer, or moved into place.
        case now
        case whenSettled(LayoutFiles.Stamp?, since: Int64)
        case gone(since: Int64)
    }

    private let files: LayoutFiles
    private var events: DirectoryEvents?
    /// The watched directory; `nil` while it is not watched.
    private var directory: (watch: Int32, identity: LayoutFiles.Stamp)?
    private var parent: Int32?
    private var images: Int32?
    private var looks: [String: Look] = [:]
    /// Stamps of the files as they were last reported.
    private var known: [String: LayoutFiles.Stamp] = [:]
    /// Reported layouts whose files could not be read at all.
    private var unreadable: Set<String> = []
    private var misnamed: Set<String> = []
    private var findings = LayoutWatch.Findings()
    private var nextScan: Int64 = 0
    /// Stamps of files that may be images, by path. Used only where no events report them.
    private var others: [String: LayoutFiles.Stamp] = [:]

    /// Pause after which a burst of events, such as those of one save, is complete. All constants here are in ns.
    private static let quiet: Int64 = 4_000_000
    private static let longestGathering: Int64 = 20_000_000
    private static let settling: Int64 = 50_000_000
    private static let secondChance: Int64 = 1_000_000_000
    private static let grace: Int64 = 300_000_000
    /// Time between scans without inotify, and while the directory does not exist.
    private static let pollInterval: Int64 = 100_000_000
    /// Time between scans with inotify, because some network file systems do not report changes made by other machines.
    private static let safetyInterval: Int64 = 10_000_000_000

    /// Subdirectory that is also watched for changes of images.
    static let imagesFolder = "images"

    init(files: LayoutFiles, pollsOnly: Bool) {
        self.files = files
        do {
            events = pollsOnly ? nil : try DirectoryEvents()
        } catch {
            findings.notes.append(Self.pollingNote(error))
        }
    }

    private static func pollingNote(_ error: SystemError) -> String {
        "polling for layout changes every \(pollInterval / 1_000_000) ms, because inotify is unavailable: \(error)"
            + (error.code == ENOSPC ? "; raise fs.inotify.max_user_watches" : "")
    }

    /// Runs until `stop` becomes readable.
    mutating func run(until stop: Int32, report: (LayoutWatch.Findings) -> Void) {
        attach()
        while true {
            process(report)
            guard wait(for: stop, limit: nextWakeUp()) else { return }
            gather(stop)
            let now = MonotonicClock.now()
            if directory == nil { attach() }
            if now >= nextScan { scan() }
        }
    }

    // MARK: Waiting

    private func nextWakeUp() -> Int64 {
        looks.values.map { look in
            switch look {
            case .now: 0
            case .whenSettled(_, let since): since + Self.settling
            case .gone(let since): since + Self.grace
            }
        }.reduce(nextScan, min)
    }

    /// Waits until an event or `stop` can be read, or until `limit` (ns of CLOCK_MONOTONIC).
    ///
    /// - Returns: False when the loop must stop.
    private func wait(for stop: Int32, limit: Int64) -> Bool {
        var descriptors = [pollfd(fd: stop, events: Int16(POLLIN), revents: 0)]
        if let events { descriptors.append(pollfd(fd: events.descriptor, events: Int16(POLLIN), revents: 0)) }
        let left = max(0, limit - MonotonicClock.now())
        poll(&descriptors, nfds_t(descriptors.count), Int32(clamping: (left + 999_999) / 1_000_000))
        return descriptors[0].revents == 0
    }

    /// Takes events until none has come for `quiet`, or `longestGathering` has passed.
    private mutating func gather(_ stop: Int32) {
        let begin = MonotonicClock.now()
        while true {
            guard let new = events?.take(), !new.isEmpty else { return }
            if findings.isEmpty { findings.noticedAt = begin }
            for event in new { take(event) }
            guard MonotonicClock.now() - begin < Self.longestGathering else { return }
            guard wait(for: stop, limit: MonotonicClock.now() + Self.quiet) else { return }
        }
    }

    // MARK: Events

    private mutating func take(_ event: DirectoryEvents.Event) {
        if event.has(UInt32(IN_Q_OVERFLOW)) {
            findings.notes.append("inotify lost events of \(files.directory): reading all layouts again")
            return scan()
        }
        switch event.watch {
        case directory?.watch:
            if event.has(UInt32(IN_IGNORED | IN_DELETE_SELF | IN_MOVE_SELF | IN_UNMOUNT)) { return reattach() }
            takeEntry(event)
        case parent:
            // The directory, or the link that leads to it, was created, moved or removed.
            if event.name == URL(fileURLWithPath: files.directory).lastPathComponent, identity() != directory?.identity
            {
                reattach()
            }
        case images:
            if event.has(UInt32(IN_IGNORED | IN_MOVE_SELF | IN_DELETE_SELF)) {
                images = nil
                findings.mayHaveMissedOthers = true
                watchImages()
            } else if !event.name.isEmpty, isDone(event, at: "\(Self.imagesFolder)/\(event.name)") {
                findings.others.insert("\(Self.imagesFolder)/\(event.name)")
            }
        default: break
        }
    }

    private mutating func takeEntry(_ event: DirectoryEvents.Event) {
        let name = event.name
        if event.has(UInt32(IN_ISDIR)) {
            guard name == Self.imagesFolder, images == nil else { return }
            findings.mayHaveMissedOthers = true
            return watchImages()
        }
        if let layout = LayoutFiles.layout(ofFile: name) {
            if event.has(UInt32(IN_CLOSE_WRITE | IN_MOVED_TO)) {
                looks[layout] = .now
            } else if event.has(UInt32(IN_DELETE | IN_MOVED_FROM)) {
                looks[layout] = .gone(since: MonotonicClock.now())
            } else if event.has(UInt32(IN_CREATE)) {
                // The writer of a new file closes it later; a link is never open.
                guard isLink(name) else { return }
                looks[layout] = .now
            } else if event.has(UInt32(IN_ATTRIB)) {
                guard unreadable.contains(layout) else { return }
                looks[layout] = .whenSettled(known[layout], since: 0)
            }
        } else if name.hasPrefix("."), isLink(name) {
            // All layouts may be links through this one.
            scan()
        } else if name.hasSuffix(".json") {
            scan()
        } else if isDone(event, at: name) {
            findings.others.insert(name)
        }
    }

    private func isDone(_ event: DirectoryEvents.Event, at path: String) -> Bool {
        event.has(UInt32(IN_CLOSE_WRITE | IN_MOVED_TO | IN_DELETE | IN_MOVED_FROM))
            || (event.has(UInt32(IN_CREATE)) && isLink(path))
    }

    private func isLink(_ name: String) -> Bool {
        var info = stat()
        guard lstat("\(files.directory)/\(name)", &info) == 0 else { return false }
        return info.st_mode & S_IFMT == S_IFLNK || (info.st_mode & S_IFMT == S_IFREG && info.st_nlink > 1)
    }

    // MARK: Watches

    private func identity() -> LayoutFiles.Stamp? {
        var info = stat()
        guard stat(files.directory, &info) == 0 else { return nil }
        var stamp = LayoutFiles.Stamp(info)
        (stamp.seconds, stamp.nanoseconds, stamp.size) = (0, 0, 0)
        return stamp
    }

    private mutating func attach() {
        defer { scan() }
        guard events != nil, let identity = identity() else { return }
        let parentPath = URL(fileURLWithPath: files.directory).deletingLastPathComponent().path
        do throws(SystemError) {
            let entries = UInt32(
                IN_CLOSE_WRITE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE | IN_CREATE | IN_ATTRIB | IN_DELETE_SELF
                    | IN_MOVE_SELF)
            guard let watch = try events?.watch(files.directory, for: entries) else { return }
            directory = (watch, identity)
            parent = try? events?.watch(
                parentPath, for: UInt32(IN_CREATE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE))
            findings.mayHaveMissedOthers = true
            watchImages()
        } catch {
            guard error.code == ENOSPC || error.code == ENOMEM else { return }
            events = nil
            findings.notes.append(Self.pollingNote(error))
        }
    }

    private mutating func reattach() {
        if let watch = directory?.watch { events?.endWatch(watch) }
        if let images { events?.endWatch(images) }
        directory = nil
        images = nil
        attach()
    }

    private mutating func watchImages() {
        let entries = UInt32(
            IN_CLOSE_WRITE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE | IN_CREATE | IN_DELETE_SELF | IN_MOVE_SELF)
        images = try? events?.watch("\(files.directory)/\(Self.imagesFolder)", for: entries)
    }

    // MARK: Reading

    /// Schedules a check of every file that differs from its last report.
    private mutating func scan() {
        let now = MonotonicClock.now()
        nextScan = now + (directory == nil ? Self.pollInterval : Self.safetyInterval)
        let list = files.list()
        for name in list.layouts where known[name] == nil || files.stamp(of: name) != known[name] {
            if looks[name] == nil { looks[name] = .whenSettled(nil, since: now - Self.settling) }
        }
        for name in known.keys where !list.layouts.contains(name) && looks[name] == nil {
            looks[name] = .gone(since: now)
        }
        for file in list.misnamed.subtracting(misnamed).sorted() {
            findings.notes.append(
                "\(files.directory)/\(file) is not used: a layout's name must be \(LayoutFiles.nameRule)")
        }
        misnamed = list.misnamed
        if images == nil { compareOthers() }
    }

    private mutating func compareOthers() {
        var found: [String: LayoutFiles.Stamp] = [:]
        for folder in ["", Self.imagesFolder + "/"] {
            let path = "\(files.directory)/\(folder)"
            for name in (try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []
            where !name.hasSuffix(".json") {
                var info = stat()
                guard stat(path + name, &info) == 0, info.st_mode & S_IFMT == S_IFREG else { continue }
                found[folder + name] = LayoutFiles.Stamp(info)
            }
        }
        let paths = Set(found.keys).union(others.keys)
        findings.others.formUnion(paths.filter { found[$0] != others[$0] })
        others = found
    }

    private mutating func process(_ report: (LayoutWatch.Findings) -> Void) {
        let now = MonotonicClock.now()
        for (name, look) in looks {
            switch look {
            case .now:
                read(name, now, isWhole: true)
            case .gone(let since):
                if files.stamp(of: name) != nil {
                    looks[name] = .whenSettled(nil, since: now)
                } else if now - since >= Self.grace {
                    found(.gone, name, nil, now)
                }
            case .whenSettled(let stamp, let since):
                guard now - since >= Self.settling else { continue }
                let current = files.stamp(of: name)
                if current == nil {
                    looks[name] = .gone(since: now)
                } else if current == stamp || isOld(current) {
                    read(name, now, isWhole: isOld(current))
                } else {
                    looks[name] = .whenSettled(current, since: now)
                }
            }
        }
        guard !findings.isEmpty else {
            if looks.isEmpty { findings.noticedAt = 0 }
            return
        }
        report(findings)
        findings = LayoutWatch.Findings()
    }

    /// Returns whether the last write is more than 1 s ago, so that its writer should be done.
    private func isOld(_ stamp: LayoutFiles.Stamp?) -> Bool {
        guard let stamp else { return false }
        let age = wallClock() - Double(stamp.seconds) - Double(stamp.nanoseconds) / 1e9
        return age > Double(Self.secondChance) / 1e9 || age < -1
    }

    private mutating func read(_ name: String, _ now: Int64, isWhole: Bool) {
        let stamp = files.stamp(of: name)
        let reading = files.read(name)
        switch reading {
        case .gone:
            looks[name] = .gone(since: now)
        case .bad where !isWhole:
            looks[name] = .whenSettled(stamp, since: now)
        case .bad, .good:
            found(reading, name, stamp, now)
        }
    }

    private mutating func found(_ reading: LayoutReading, _ name: String, _ stamp: LayoutFiles.Stamp?, _ now: Int64) {
        looks[name] = nil
        known[name] = stamp
        if case .bad(let problem) = reading, problem.reason != nil {
            unreadable.insert(name)
        } else {
            unreadable.remove(name)
        }
        if findings.noticedAt == 0 { findings.noticedAt = now }
        findings.layouts[name] = LayoutWatch.Finding(reading: reading, stamp: stamp)
    }
}
