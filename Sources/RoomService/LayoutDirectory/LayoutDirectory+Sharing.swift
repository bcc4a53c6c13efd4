import EncodedMedia
import Foundation
import LayoutEngine
import TaskStore

/// Layouts of a cluster: the newest version in the store is in use at every node, and a node's files are its copies.
///
/// A file that is saved at a node becomes the next version. Of two versions that two nodes made at the same time, the
/// later one is in use. A deleted file is no deletion: a disk that is lost must not take the layouts of all nodes along.
extension LayoutDirectory {
    /// Puts into use what other nodes have stored, and stores what could not be stored before.
    ///
    /// - Parameter newest: The newest version of each layout in the store.
    func takeShared(_ newest: [LayoutVersion]) async {
        guard isShared else { return }
        do throws(StoreError) {
            for version in newest { try await take(version) }
            for name in unstored.subtracting(newest.map(\.layout)).sorted() { try await storeAgain(name, after: 0) }
        } catch {
            logger.debug("layouts of other nodes cannot be read: \(error)")
        }
    }

    /// Puts into use what other nodes have stored of one layout.
    func takeShared(_ name: String) async {
        do {
            try await readShared(name)
        } catch {
            logger.debug("the layout \(name) of other nodes cannot be read: \(error)")
        }
    }

    /// Puts into use what other nodes have stored of the layout that a request is about to change, so that its condition
    /// is compared with the newest version.
    func takeSharedOrThrow(_ name: String) async throws(OrchestratorError) {
        do {
            try await readShared(name)
        } catch {
            throw OrchestratorError(error)
        }
    }

    private func readShared(_ name: String) async throws(StoreError) {
        guard isShared else { return }
        if let newest = try await store.layoutVersions(of: name, limit: 1).first {
            try await take(newest)
        } else if unstored.contains(name) {
            try await storeAgain(name, after: 0)
        }
    }

    /// Takes the newest version in the store.
    private func take(_ newest: LayoutVersion) async throws(StoreError) {
        let name = newest.layout
        let isUnstored = unstored.contains(name)
        guard isUnstored || layouts.catalogue.nextNumber(of: name) <= newest.number else { return }
        let own = layouts.entry(name)?.good
        // A version of a higher number was made from the newest one; of two with the same number, the clocks decide.
        let isOwnLater =
            isUnstored && own.map { ($0.version.number, $0.version.at) > (newest.number, newest.at) } ?? false
        guard newest.isDeletion != true else {
            if isOwnLater { return try await storeAgain(name, after: newest.number) }
            return await takeDeletion(newest)
        }
        guard let content = try await store.layoutContent(of: name, version: newest.number),
            let template = try? LayoutTemplate.decode(content, name: name)
        else {
            logUnusable(newest)
            unstored.remove(name)
            layouts.update { $0.remember(newest) }
            return
        }
        if isOwnLater, own?.content != content { return try await storeAgain(name, after: newest.number) }
        unstored.remove(name)
        let good = LayoutCatalogue.Good(template: template, content: content, version: newest)
        let outcome = layouts.update { $0.adopt(good) }
        await writeCopy(good, replacing: own?.content)
        await tell(outcome, of: name, noticedAt: MonotonicClock.now())
    }

    private func logUnusable(_ version: LayoutVersion) {
        logger.error(
            """
            layout \(version.layout): version \(version.number) cannot be used here: a node of a later release has made \
            it
            """)
    }

    /// Stores the version in use, which could not be stored when it was made, as the next version.
    private func storeAgain(_ name: String, after newest: Int) async throws(StoreError) {
        guard var good = layouts.entry(name)?.good else {
            unstored.remove(name)
            return
        }
        good.version.number = max(good.version.number, newest + 1)
        let renumbered = good
        try await commit(.changed(renumbered), of: name)
        _ = layouts.update { $0.adopt(renumbered) }
        unstored.remove(name)
    }

    // MARK: Deletions

    /// Deletes a layout at all nodes. The caller has checked that this is allowed.
    func deleteShared(_ name: String) async throws(StoreError) {
        let number = layouts.catalogue.nextNumber(of: name)
        let deletion = NewLayoutVersion(deletionOf: name, number: number, at: wallClock())
        let event = LayoutEvent(
            layout: name, at: deletion.version.at, kind: .deleted, version: nil,
            message: LayoutCatalogue.Outcome.deleted(kept: nil).message(of: name))
        _ = try await store.commit(StoreChange(layoutVersion: deletion, layoutEvent: event))
        await takeDeletion(deletion.version)
    }

    private func takeDeletion(_ deletion: LayoutVersion) async {
        let name = deletion.layout
        unstored.remove(name)
        let before = layouts.entry(name)
        await deleteCopy(name, holding: before?.good?.content)
        let outcome = layouts.update { catalogue in
            catalogue.remember(deletion)
            return catalogue.take(.gone, of: name, at: deletion.at, origin: deletion.origin)
        }
        await tell(outcome, of: name, noticedAt: MonotonicClock.now())
        await forgetDeleted()
    }

    // MARK: Files

    /// Returns whether a finding about a layout's file changes nothing.
    ///
    /// - Parameter stamp: The file's stamp; `nil` = there is no file.
    func isIgnored(_ stamp: LayoutFiles.Stamp?, of name: String) -> Bool {
        guard isShared else { return false }
        guard let stamp else {
            outdated[name] = nil
            guard let entry = layouts.entry(name), let good = entry.good, !entry.isDeleted else { return false }
            // The errors of the file are gone with it.
            _ = layouts.update { $0.adopt(good) }
            logger.warning(
                """
                layout \(name): its file was removed at this node; version \(good.version.number) stays in use at all \
                nodes: delete it with DELETE /v1/layouts/\(name)
                """)
            return true
        }
        if outdated[name] == stamp { return true }
        outdated[name] = nil
        return false
    }

    /// Writes this node's copy of a version, unless the file holds another layout, which becomes the next version.
    ///
    /// - Parameter earlier: Content that the file may have.
    private func writeCopy(_ good: LayoutCatalogue.Good, replacing earlier: [UInt8]?) async {
        let name = good.version.layout
        let stale = outdated[name]
        do throws(OrchestratorError) {
            try await offPool { [files] () throws(OrchestratorError) -> Void in
                guard FileManager.default.fileExists(atPath: files.directory) else { return }
                if case .good(_, let content) = files.read(name) {
                    guard content != good.content, content == earlier || files.isUnchanged(name, since: stale) else {
                        return
                    }
                }
                try files.prepare(good.content, name: name).replace()
            }
            outdated[name] = nil
        } catch {
            outdated[name] = await offPool { [files] in files.stamp(of: name) }
            logger.warning("layout \(name): version \(good.version.number) is in use without a file: \(error.detail)")
        }
    }

    /// Deletes this node's copy, unless the file holds another layout, which becomes the next version.
    private func deleteCopy(_ name: String, holding earlier: [UInt8]?) async {
        let stale = outdated[name]
        do throws(OrchestratorError) {
            try await offPool { [files] () throws(OrchestratorError) -> Void in
                if case .good(_, let content) = files.read(name), content != earlier,
                    !files.isUnchanged(name, since: stale)
                {
                    return
                }
                _ = try files.delete(name)
            }
            outdated[name] = nil
        } catch {
            outdated[name] = await offPool { [files] in files.stamp(of: name) }
            logger.warning("layout \(name) is deleted, but has a file at this node: \(error.detail)")
        }
    }

    // MARK: Start

    /// Returns the versions in the files that hold an earlier one of their layout: it was changed at another node while
    /// this one was not at work.
    func earlierVersions(
        among readings: [(String, LayoutReading)]
    ) async throws(StoreError) -> [String: LayoutCatalogue.Good] {
        guard isShared else { return [:] }
        var earlier: [String: LayoutCatalogue.Good] = [:]
        for (name, reading) in readings {
            guard case .good(let template, let content) = reading, layouts.entry(name)?.good?.content != content,
                let version = try await storedVersion(of: name, holding: content)
            else { continue }
            earlier[name] = LayoutCatalogue.Good(template: template, content: content, version: version)
        }
        return earlier
    }

    private func storedVersion(of name: String, holding content: [UInt8]) async throws(StoreError) -> LayoutVersion? {
        for version in try await store.layoutVersions(of: name, limit: Retention.layoutVersions)
        where version.length == content.count {
            if try await store.layoutContent(of: name, version: version.number) == content { return version }
        }
        return nil
    }

    /// Puts the versions of the store into use whose layouts have no file here, or an earlier one.
    ///
    /// - Parameter earlier: The versions in files that hold an earlier one.
    func restoreShared(replacing earlier: [String: LayoutCatalogue.Good]) async throws(StoreError) {
        guard isShared else { return }
        for (name, entry) in layouts.catalogue.all where entry.isDeleted {
            guard let good = entry.good else { continue }
            if earlier[name] == nil {
                // Deleted while the service was not part of a cluster: such a deletion is no version.
                let events = try await store.layoutEvents(of: name, limit: Retention.layoutEvents)
                if events.first(where: { $0.kind != .rejected })?.kind == .deleted { continue }
            }
            _ = layouts.update { $0.adopt(good) }
            await writeCopy(good, replacing: earlier[name]?.content)
        }
        // The newest versions of the others are no layouts.
        for (name, good) in earlier where layouts.entry(name) == nil {
            guard let newest = try await store.layoutVersions(of: name, limit: 1).first else { continue }
            if newest.isDeletion == true {
                await deleteCopy(name, holding: good.content)
            } else {
                logUnusable(newest)
                _ = layouts.update { $0.adopt(good) }
            }
        }
    }
}

extension LayoutFiles {
    /// Returns whether a file that could not be replaced is still the same. Blocks.
    ///
    /// - Parameter stamp: The file's stamp at that time; `nil` if there is no such file.
    fileprivate func isUnchanged(_ name: String, since stamp: Stamp?) -> Bool {
        stamp != nil && self.stamp(of: name) == stamp
    }
}
