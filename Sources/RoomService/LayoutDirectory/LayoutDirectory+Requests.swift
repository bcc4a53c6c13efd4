import EncodedMedia
import Foundation
import LayoutEngine
import MixModel
import TaskStore

/// Layout changes requested through the API: stored first, then put into use, then acknowledged.
extension LayoutDirectory {
    /// Maximum number of rooms counted as users of a layout.
    private static let mostRoomsCounted = 1000

    /// Number of times that a change is tried again because another node was faster.
    private static let mostRetries = 5

    /// - Parameter retries: Number of times that the change may still be tried again.
    func perform(
        _ new: NewLayout, retries: Int = LayoutDirectory.mostRetries
    ) async throws(OrchestratorError) -> Change {
        try await takeSharedOrThrow(new.name)
        let before = layouts.entry(new.name)
        try new.precondition.check(new.name, before)
        let isNew = before == nil || before?.isDeleted == true
        if let good = before?.good, good.content == new.content, before?.problem == nil, !isNew {
            return Change(good: good, isNew: false)
        }
        guard !isNew || layouts.names.count < Self.mostLayouts else {
            throw OrchestratorError(
                .conflict, "too-many-layouts", "There are too many layouts",
                detail: "\(Self.mostLayouts) exist already: first delete one that no room uses")
        }
        let reading = LayoutReading.good(new.template, content: new.content)
        let prepared = try await offPool { [files] () throws(OrchestratorError) in
            try files.prepare(new.content, name: new.name)
        }
        // The expected outcome, so that it can be stored before it takes effect.
        let expected = layouts.catalogue.expecting(reading, of: new.name, at: wallClock(), origin: new.origin)
        do {
            try await commit(expected, of: new.name)
        } catch {
            await offPool { prepared.discard() }
            if isShared, case .conflict = error, retries > 0 { return try await perform(new, retries: retries - 1) }
            throw OrchestratorError(error)
        }
        do {
            try await offPool { () throws(OrchestratorError) in try prepared.replace() }
        } catch {
            // The version is in the store but was never in use; its number is taken. Other nodes use it, and this one
            // does when it looks next.
            if !isShared, let version = expected.good?.version { layouts.update { $0.remember(version) } }
            throw error
        }
        unstored.remove(new.name)
        let at = expected.good?.version.at ?? wallClock()
        let outcome = layouts.update { $0.take(reading, of: new.name, at: at, origin: new.origin) }
        await tell(outcome, of: new.name, noticedAt: new.receivedAt)
        guard let good = outcome.good ?? layouts.entry(new.name)?.good else {
            throw .layoutNotFound(new.name)
        }
        return Change(good: good, isNew: isNew)
    }

    func performRollBack(
        _ name: String, _ number: Int, _ precondition: LayoutPrecondition
    ) async throws(OrchestratorError) -> Change {
        let receivedAt = MonotonicClock.now()
        try await takeSharedOrThrow(name)
        let before = layouts.entry(name)
        try precondition.check(name, before)
        let content: [UInt8]?
        do {
            content = try await store.layoutContent(of: name, version: number)
        } catch {
            throw OrchestratorError(error)
        }
        guard let content, content != NewLayoutVersion(deletionOf: name, number: number, at: 0).content else {
            throw .versionNotFound(name, number)
        }
        if let before, before.good?.version.number == number, before.problem == nil, !before.isDeleted {
            throw OrchestratorError(
                .conflict, "layout-version-in-use", "This version is in use",
                detail:
                    "\(name): version \(number) is the newest one; GET /v1/layouts/\(name)/versions lists the others")
        }
        let template: LayoutTemplate
        do {
            template = try LayoutTemplate.decode(content, name: name)
        } catch {
            throw OrchestratorError(error)
        }
        return try await perform(
            NewLayout(
                name: name, template: template, content: content, origin: .rollback, precondition: precondition,
                receivedAt: receivedAt))
    }

    /// - Parameters:
    ///   - app: App of the caller. Rooms of other apps are counted but not named.
    ///   - retries: Number of times that the deletion may still be tried again.
    func performDelete(
        _ name: String, _ precondition: LayoutPrecondition, for app: AppID, retries: Int = LayoutDirectory.mostRetries
    ) async throws(OrchestratorError) {
        try await takeSharedOrThrow(name)
        let before = layouts.entry(name)
        try precondition.check(name, before)
        guard before != nil else { throw .layoutNotFound(name) }
        let rooms: [RoomID]
        do {
            rooms = try await registry.layoutUse(of: [name], limit: Self.mostRoomsCounted)[name] ?? []
        } catch {
            throw OrchestratorError(error)
        }
        guard rooms.isEmpty else {
            let own = rooms.filter { $0.app == app }.prefix(20).map(\.name)
            let others = rooms.count - own.count
            let least = rooms.count == Self.mostRoomsCounted ? "at least " : ""
            let shown = (own + (others > 0 ? ["\(least)\(others) more"] : [])).joined(separator: ", ")
            throw OrchestratorError(
                .conflict, "layout-in-use", "Rooms use the layout",
                detail: "\(name) is used by \(shown): first give them another one with PUT /v1/rooms/{room}")
        }
        guard name != defaultLayout else {
            throw OrchestratorError(
                .conflict, "layout-in-use", "New rooms use the layout",
                detail: "\(name) is rooms.layout in the configuration: first set another one there")
        }
        guard !isShared else {
            do {
                return try await deleteShared(name)
            } catch {
                guard case .conflict = error, retries > 0 else { throw OrchestratorError(error) }
                return try await performDelete(name, precondition, for: app, retries: retries - 1)
            }
        }
        _ = try await offPool { [files] () throws(OrchestratorError) in try files.delete(name) }
        layouts.update { catalogue in
            _ = catalogue.take(.gone, of: name, at: wallClock(), origin: .api)
            catalogue.forgetDeleted(except: [])
        }
        let outcome = LayoutCatalogue.Outcome.deleted(kept: nil)
        await tell(outcome, of: name, noticedAt: MonotonicClock.now())
        await commitOrLog(outcome, of: name)
    }
}
