import Foundation
import TestSupport
import Testing

@testable import ObjectStorage

struct UploadMachineTests {
    private static let part = PartPlan.partSizes.lowerBound

    /// A file, its upload and the storage.
    private struct Bench {
        var bytes: Int64
        var version = 1
        var storage = ModelStorage()
        var machine: UploadMachine
        var steps = 0

        init(bytes: Int64, trustsSize: Bool = false) throws {
            self.bytes = bytes
            machine = try Self.machine(nil, bytes, 1, trustsSize)
        }

        static func machine(
            _ document: UploadDocument?, _ bytes: Int64, _ version: Int, _ trustsSize: Bool = false
        ) throws -> UploadMachine {
            let place = try StoragePlace(endpoint: "https://h", region: "r", bucket: "b", style: .path)
            return UploadMachine(
                document, content: .init(bytes: bytes, version: "\(version)"), place: place, key: "k", partBytes: part,
                trustsSize: trustsSize)
        }

        /// Continues in another process, with the state on the disk.
        mutating func restart() throws {
            let data = try JSONEncoder().encode(machine.document)
            machine = try Self.machine(JSONDecoder().decode(UploadDocument.self, from: data), bytes, version)
        }

        func checksum(_ range: Range<Int64>) -> ObjectChecksum { ObjectChecksum(Data("\(version) \(range)".utf8)) }

        /// Performs the next step.
        ///
        /// - Returns: The fault of the step, if any.
        mutating func step(_ luck: ModelStorage.Luck = .good) -> StorageFault? {
            guard let step = machine.step else { return nil }
            steps += 1
            do throws(StorageFault) {
                switch step {
                case .put:
                    let checksum = checksum(0..<bytes)
                    _ = try storage.call(.put(checksum), bytes: bytes, luck)
                    machine.stored(checksum)
                case .create:
                    if case .created(let upload) = try storage.call(.create, luck) { machine.created(upload: upload) }
                case .part(let number, let upload, let range):
                    let call = StorageCall.part(number, upload: upload, checksum(range))
                    if case .part(let part) = try storage.call(call, bytes: Int64(range.count), luck) {
                        machine.took(part)
                    }
                case .complete(let upload, let parts):
                    _ = try storage.call(.complete(upload: upload, parts), luck)
                    machine.completed()
                case .abort(let upload):
                    _ = try storage.call(.abort(upload: upload), luck)
                    machine.aborted()
                case .look:
                    let object: StoredObject? =
                        if case .found(let object) = try storage.call(.look, luck) { object } else { nil }
                    try machine.found(object, at: 9)
                }
                return nil
            } catch {
                machine.failed(error, at: Double(steps))
                return error
            }
        }

        mutating func finish() -> Bool {
            for _ in 0..<100 where machine.step != nil { _ = step() }
            return machine.step == nil
        }
    }

    @Test func aSmallFileIsPutAndCompared() throws {
        var bench = try Bench(bytes: 1000)
        #expect(bench.machine.step == .put)
        #expect(bench.step() == nil && bench.machine.step == .look && bench.machine.document.sentBytes == 1000)
        #expect(bench.step() == nil && bench.machine.document.isStored && bench.machine.step == nil)
    }

    @Test func aLargeFileIsSentInPartsOfWhichNoneIsSentTwice() throws {
        var bench = try Bench(bytes: 2 * Self.part + 1)
        var ranges: [Range<Int64>] = []
        while let step = bench.machine.step {
            if case .part(_, _, let range) = step { ranges.append(range) }
            _ = bench.step()
            try bench.restart()
        }
        #expect(ranges == [0..<Self.part, Self.part..<2 * Self.part, 2 * Self.part..<2 * Self.part + 1])
        #expect(bench.machine.document.isStored && bench.storage.openUploads == 0)
    }

    @Test func whatIsStoredIsNotSentAgain() throws {
        var bench = try Bench(bytes: 10)
        #expect(bench.finish() == true)
        try bench.restart()
        #expect(bench.machine.step == nil && bench.machine.document.isStored)
        // A file with other content is uploaded.
        bench.version = 2
        try bench.restart()
        #expect(bench.machine.step == .put)
    }

    @Test func aChangedFileHasItsPartsRemoved() throws {
        var bench = try Bench(bytes: 3 * Self.part)
        _ = bench.step()
        _ = bench.step()
        bench.version = 2
        try bench.restart()
        #expect(bench.machine.step == .abort(upload: "u1"))
        #expect(bench.finish() && bench.machine.document.isStored && bench.storage.openUploads == 0)
    }

    @Test func anObjectIsKnownThoughTheAnswerWasLost() throws {
        var bench = try Bench(bytes: 2 * Self.part)
        for _ in 0..<3 { _ = bench.step() }
        #expect(bench.step(.lostAnswer)?.code == .timeout)
        // The storage has assembled the object and forgotten the upload.
        #expect(bench.step()?.code == .partsLost && bench.machine.step == .look)
        #expect(bench.step() == nil && bench.machine.document.isStored)
        #expect(bench.machine.document.restarts == 0 && bench.machine.document.fault == nil)
    }

    @Test func lostPartsAreSentAnewAndFailuresCountUntilItIsStored() throws {
        var bench = try Bench(bytes: 3 * Self.part)
        for round in 1...5 {
            while bench.machine.document.sentBytes < 2 * Self.part { #expect(bench.step() == nil) }
            #expect(bench.step(.forgetsUploads)?.code == .partsLost)
            #expect(bench.machine.document.restarts == round && bench.machine.document.failures >= round)
            #expect(bench.machine.document.failingSince != nil)
        }
        #expect(bench.finish() && bench.machine.document.isStored && bench.machine.document.failures == 0)
    }

    @Test func anObjectThatIsNotTheSameIsSentAgain() throws {
        var bench = try Bench(bytes: 10)
        _ = bench.step()
        #expect(bench.step(.forgetsObject)?.code == .mismatch)
        #expect(bench.machine.step == .put && bench.machine.document.fault?.code == .mismatch)
        #expect(bench.finish() && bench.machine.document.isStored)
    }

    @Test(arguments: [false, true]) func aSizeIsEnoughIfItIsTrusted(isTrusted: Bool) throws {
        var machine = try Bench.machine(nil, 10, 1, isTrusted)
        machine.stored(ObjectChecksum(Data()))
        do throws(StorageFault) {
            try machine.found(StoredObject(bytes: 10, tag: "\"opaque\""), at: 1)
            #expect(isTrusted && machine.document.isStored)
        } catch {
            machine.failed(error, at: 1)
            #expect(!isTrusted && error.code == .unverified && machine.step == .look)
        }
        var other = try Bench.machine(nil, 10, 1, isTrusted)
        other.stored(ObjectChecksum(Data()))
        #expect { try other.found(StoredObject(bytes: 11), at: 1) } throws: { ($0 as? StorageFault)?.code == .mismatch }
    }

    @Test func whatIsGivenUpHasItsPartsRemovedAndIsTriedAgainAfterAStart() throws {
        var bench = try Bench(bytes: 3 * Self.part)
        _ = bench.step()
        bench.machine.giveUp(at: 5)
        #expect(bench.machine.step == .abort(upload: "u1"))
        // The storage may remove the parts by itself.
        #expect(bench.step(.forgetsUploads) == nil && bench.machine.step == nil)
        bench.machine.reconsider(givenUpBefore: 5)
        #expect(bench.machine.step == nil)
        bench.machine.reconsider(givenUpBefore: 6)
        #expect(bench.finish() && bench.machine.document.isStored)
    }

    @Test func aFileThatIsTooLargeIsGivenUpAtOnce() throws {
        var machine = try Bench.machine(nil, PartPlan.mostBytes + 1, 1)
        machine.reconsider(givenUpBefore: .infinity)
        #expect(machine.step == nil && machine.document.fault?.code == .tooLarge && !machine.document.isStored)
    }

    /// Failures of all kinds, restarts and changes of the file happen in any order; then everything works, and every
    /// upload ends.
    @Test func everyUploadEndsWithTheFileThatIsThere() throws {
        var generator = SeededGenerator(announcedFor: "UploadMachineTests")
        for _ in 0..<TestLength.of(short: 300, long: 30_000) {
            var bench = try Bench(bytes: [0, 10, Self.part, 4 * Self.part - 1].randomElement(using: &generator) ?? 0)
            for _ in 0..<Int.random(in: 0...60, using: &generator) {
                switch Int.random(in: 0..<20, using: &generator) {
                case 0:
                    bench.version += 1
                    try bench.restart()
                case 1...4: try bench.restart()
                default: _ = bench.step(ModelStorage.Luck.allCases.randomElement(using: &generator) ?? .good)
                }
                #expect(bench.machine.document.leftovers.count <= UploadMachine.mostLeftovers)
                // An object that is not stored does not count as stored.
                if bench.machine.document.isStored, bench.machine.document.failures != 0 {
                    Issue.record("failures stay")
                }
            }
            // The machine cannot notice that the storage forgot a stored object, so another version is uploaded.
            bench.version += 1
            try bench.restart()
            #expect(bench.finish() == true, "seed \(generator.seed)")
            let plan = try #require(PartPlan(bytes: bench.bytes, partBytes: Self.part))
            let expected =
                plan.isWhole
                ? bench.checksum(0..<bench.bytes)
                : ObjectChecksum(parts: (1...plan.count).map { bench.checksum(plan.range(of: $0)) })
            #expect(bench.machine.document.isStored && bench.storage.object?.sha256 == expected.sha256)
            #expect(bench.storage.object?.bytes == bench.bytes)
            #expect(bench.storage.openUploads <= bench.storage.orphans, "seed \(generator.seed)")
        }
    }

    @Test func damagedDocumentsAreNoTrap() throws {
        var document = UploadDocument(
            content: .init(bytes: 3 * Self.part, version: "1"),
            place: try StoragePlace(endpoint: "https://h", region: "r", bucket: "b", style: .path), key: "k")
        (document.failures, document.restarts) = (.max, .max)
        let part = StoredPart(tag: "", checksum: ObjectChecksum(Data()))
        for size in [Int64.min, -1, 0, .max] {
            document.stage = .sending(upload: "", partBytes: size, parts: Array(repeating: part, count: 20_000))
            var machine = try Bench.machine(document, 3 * Self.part, 1)
            #expect(machine.document.sentBytes <= 3 * Self.part)
            machine.failed(StorageFault(.mismatch, ""), at: .nan)
            machine.failed(StorageFault(.timeout, ""), at: 1)
            #expect(machine.step != nil)
        }
    }

    @Test func plansCoverTheFileWithPartsThatS3Takes() throws {
        for bytes in [0, 1, 5 << 20, 5 << 20 + 1, 8 << 30, 100 << 30, PartPlan.mostBytes - 1, PartPlan.mostBytes]
            as [Int64]
        {
            for size in [Int64.min, 0, PartPlan.standard, .max] {
                let plan = try #require(PartPlan(bytes: bytes, partBytes: size))
                #expect(PartPlan.partSizes.contains(plan.partBytes) && plan.count <= 10_000)
                #expect(plan.range(of: 1).lowerBound == 0 && plan.range(of: plan.count).upperBound == bytes)
                #expect(bytes == 0 || !plan.range(of: plan.count).isEmpty)
                #expect(plan.count == 1 || plan.range(of: 1).upperBound == plan.range(of: 2).lowerBound)
                // Another process divides the file in the same way.
                #expect(PartPlan(bytes: bytes, partBytes: plan.partBytes)?.partBytes == plan.partBytes)
            }
        }
        #expect(
            PartPlan(bytes: -1, partBytes: 0) == nil && PartPlan(bytes: PartPlan.mostBytes + 1, partBytes: 0) == nil)
    }
}
