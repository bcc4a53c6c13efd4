import EventSubscription
import Foundation
import Logging
import ObjectStorage

/// One attempt to upload one file: performs the steps of its machine until the object is verified or a step fails.
struct UploadJob: Sendable {
    let item: UploadItem
    let source: any UploadSource
    let target: UploadTarget
    let client: StorageClient
    let settings: UploadSettings
    /// Start of the service in seconds since 1970.
    let startedAt: Double
    let logger: Logger

    private var key: String { target.place.key(room: item.room, file: item.file) }

    func run() async -> UploadOutcome {
        let (item, source, name) = (item, source, target.name.rawValue)
        let opened = await offPool {
            source.version(of: item) == item.version
                ? source.open(item).map { (reader: $0, note: item.notes.read(name)) } : nil
        }
        guard let opened else { return .left }
        let content = UploadDocument.Content(bytes: opened.reader.bytes, version: item.version)
        var machine = UploadMachine(
            opened.note, content: content, place: target.place, key: key, partBytes: settings.partBytes,
            trustsSize: settings.trustsSize)
        machine.reconsider(givenUpBefore: startedAt)
        while let step = machine.step {
            if Task.isCancelled { return .left }
            guard await isSame else { return await leave(machine) }
            do throws(StorageFault) {
                try await perform(step, opened.reader, &machine)
            } catch {
                if Task.isCancelled { return .left }
                guard await isSame else { return await leave(machine) }
                return await failed(error, &machine)
            }
            await save(machine.document)
        }
        guard machine.document.isStored else { return await givenUp(&machine) }
        logger.info("\(item.file) is stored at \(name) as \(key)", metadata: ["target": "\(name)"])
        return .stored
    }

    // MARK: Steps

    private func perform(
        _ step: UploadMachine.Step, _ reader: any UploadReader, _ machine: inout UploadMachine
    ) async throws(StorageFault) {
        switch step {
        case .put:
            let (bytes, checksum) = try await body(0..<reader.bytes, reader)
            _ = try await call(.put(checksum), body: bytes)
            machine.stored(checksum)
        case .create:
            if case .created(let upload) = try await call(.create) { machine.created(upload: upload) }
        case .part(let number, let upload, let range):
            let (bytes, checksum) = try await body(range, reader)
            if case .part(let part) = try await call(.part(number, upload: upload, checksum), body: bytes) {
                machine.took(part)
            }
        case .complete(let upload, let parts):
            _ = try await call(.complete(upload: upload, parts))
            machine.completed()
        case .abort(let upload):
            _ = try await call(.abort(upload: upload))
            machine.aborted()
        case .look:
            let result = try await call(.look)
            let object: StoredObject? = if case .found(let object) = result { object } else { nil }
            try machine.found(object, at: wallClock())
        }
    }

    private func call(_ call: StorageCall, body: [UInt8] = []) async throws(StorageFault) -> StorageAnswer.Result {
        try await client.call(call, key, type: source.type, body: body).result(of: call)
    }

    private func body(
        _ range: Range<Int64>, _ reader: any UploadReader
    ) async throws(StorageFault) -> ([UInt8], ObjectChecksum) {
        try await offPool { () throws(StorageFault) -> ([UInt8], ObjectChecksum) in
            do throws(UploadReadFailure) {
                let bytes = try reader.read(range)
                return (bytes, ObjectChecksum(bytes))
            } catch {
                throw StorageFault(.unreadable, "the file cannot be read: \(error.reason)")
            }
        }
    }

    // MARK: Ends

    private var isSame: Bool {
        get async {
            let (item, source) = (item, source)
            return await offPool { source.version(of: item) == item.version }
        }
    }

    private func save(_ document: UploadDocument) async {
        let (item, name, settings) = (item, target.name.rawValue, settings)
        let isSaved = await offPool { () -> Bool in
            // The code that deletes a file deletes its notes, which must not come back.
            guard access(item.path, F_OK) == 0 else {
                item.notes.remove()
                return true
            }
            let isSaved = item.notes.write(document, of: name)
            // A file that all targets have may be removed as soon as the last note says so, and its notes stay.
            if access(item.path, F_OK) != 0, !settings.mayRemove(item) { item.notes.remove() }
            return isSaved
        }
        if !isSaved { logger.warning("the state file of \(item.file) cannot be written: its upload may start over") }
    }

    /// Abandons a file that was deleted or replaced, and makes the storage remove its parts.
    private func leave(_ machine: UploadMachine) async -> UploadOutcome {
        if case .sending(let upload, _, _) = machine.document.stage { _ = try? await call(.abort(upload: upload)) }
        logger.info("\(item.file) was deleted or changed during its upload")
        return .left
    }

    /// Gives up a file for which there is no call to make, such as one that is too large, until the next start.
    private func givenUp(_ machine: inout UploadMachine) async -> UploadOutcome {
        let fault = machine.document.fault ?? StorageFault(.refused, "given up")
        machine.giveUp(at: wallClock())
        await save(machine.document)
        warn(fault, "given up until the next start")
        return .failed(fault, retryAfter: nil)
    }

    private func failed(_ fault: StorageFault, _ machine: inout UploadMachine) async -> UploadOutcome {
        let now = wallClock()
        machine.failed(fault, at: now)
        let policy = settings.policy
        let age = Duration.seconds(max(now - (machine.document.failingSince ?? now), 0))
        var delay = policy.delay(
            after: machine.document.failures, age: age, asked: fault.retryAfter.map { .seconds($0) },
            random: .random(in: 0..<1))
        if fault.cure == .operatorsTurn { delay = delay.map { max($0, policy.longestDelay) } }
        if delay == nil {
            machine.giveUp(at: now)
            if case .abort(let upload) = machine.step, (try? await call(.abort(upload: upload))) != nil {
                machine.aborted()
            }
        }
        await save(machine.document)
        let next = delay.map { "tried again in \($0.components.seconds) s" } ?? "given up until the next start"
        warn(fault, next)
        return .failed(fault, retryAfter: delay)
    }

    private func warn(_ fault: StorageFault, _ next: String) {
        logger.warning(
            "\(item.file) cannot be uploaded: \(fault.message) (\(fault.code.rawValue)); \(next)",
            metadata: ["target": "\(target.name.rawValue)"])
    }
}
