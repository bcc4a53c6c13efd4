import EncodedMedia
import EventSubscription
import Foundation
import HTTPTypes
import Hummingbird
import LayoutEngine
import MixModel
import RoomService
import TaskStore

/// `/v1/layouts`: the layouts that rooms can use, their versions, and changes to them.
package struct LayoutController: Sendable {
    let directory: LayoutDirectory
    let registry: RoomRegistry
    let store: any TaskStore
    let layouts: Layouts
    let images: ImageStore

    package init(
        directory: LayoutDirectory, registry: RoomRegistry, store: any TaskStore, layouts: Layouts, images: ImageStore
    ) {
        self.directory = directory
        self.registry = registry
        self.store = store
        self.layouts = layouts
        self.images = images
    }

    package func addRoutes(to router: some RouterMethods<OrchestratorContext>) {
        router.get("v1/layouts", use: list)
        router.get("v1/layouts/{name}", use: get)
        router.put("v1/layouts/{name}", use: put)
        router.delete("v1/layouts/{name}", use: delete)
        router.get("v1/layouts/{name}/versions", use: versions)
        router.get("v1/layouts/{name}/versions/{version}", use: version)
        router.get("v1/layouts/{name}/events", use: events)
        router.post("v1/layouts/{name}/rollback", use: rollBack)
    }

    // MARK: Reading

    private struct List: Encodable {
        var layouts: [LayoutView]
    }

    @Sendable private func list(_ request: Request, _ context: OrchestratorContext) async throws -> Response {
        let all = layouts.catalogue.all
        let automatic = LayoutLibrary.automaticName
        let use = try await registry.layoutUse(
            of: all.map(\.0) + [automatic], by: context.caller.app, limit: LayoutView.mostRooms + 1)
        var views = all.compactMap { name, entry -> LayoutView? in
            let rooms = use[name] ?? []
            return entry.isDeleted && rooms.isEmpty ? nil : LayoutView(name, entry, rooms: rooms)
        }
        views.append(LayoutView(automatic, nil, rooms: use[automatic] ?? []))
        return jsonResponse(List(layouts: views.sorted { $0.name < $1.name }))
    }

    @Sendable private func get(_ request: Request, _ context: OrchestratorContext) async throws -> Response {
        let (name, entry) = try known(context)
        let content =
            name == LayoutLibrary.automaticName ? Array(LayoutLibrary.automaticFile.utf8) : entry?.good?.content
        var view = LayoutView(name, entry, rooms: try await rooms(using: name, context))
        view.images = await images.status(of: layouts.writtenTemplate(name).images)
        return Self.response(view, template: content)
    }

    private struct Versions: Encodable {
        var layout: String
        var versions: [LayoutVersionView]
    }

    @Sendable private func versions(_ request: Request, _ context: OrchestratorContext) async throws -> Response {
        let name = try Self.fileName(context)
        let inUse = layouts.entry(name)?.good?.version.number
        let versions = try await contents(of: name)
        // A deleted layout can be restored from its versions.
        guard !versions.isEmpty || layouts.entry(name) != nil else { throw OrchestratorError.layoutNotFound(name) }
        return jsonResponse(
            Versions(layout: name, versions: versions.map { LayoutVersionView($0, inUse: inUse) }))
    }

    @Sendable private func version(_ request: Request, _ context: OrchestratorContext) async throws -> Response {
        let name = try Self.fileName(context)
        let text = try context.parameters.require("version")
        guard let number = Int(text), number > 0 else {
            throw InputError(.invalidField, field: "version", found: "\"\(text)\"", expected: "a whole number from 1")
        }
        let versions = try await contents(of: name)
        guard let version = versions.first(where: { $0.number == number }),
            let content = try await store.layoutContent(of: name, version: number)
        else { throw OrchestratorError.versionNotFound(name, number) }
        let inUse = layouts.entry(name)?.good?.version.number
        return Self.response(LayoutVersionView(version, inUse: inUse), template: content)
    }

    /// Returns the kept versions that have a content, newest first.
    private func contents(of name: String) async throws(StoreError) -> [LayoutVersion] {
        try await store.layoutVersions(of: name, limit: Retention.layoutVersions).filter { $0.isDeletion != true }
    }

    private struct Events: Encodable {
        var layout: String
        var events: [LayoutEventView]
    }

    @Sendable private func events(_ request: Request, _ context: OrchestratorContext) async throws -> Response {
        let name = try Self.fileName(context)
        let limit = try request.queryInteger("limit", in: 1...Retention.layoutEvents) ?? 50
        let events = try await store.layoutEvents(of: name, limit: limit)
        guard !events.isEmpty || layouts.entry(name) != nil else { throw OrchestratorError.layoutNotFound(name) }
        return jsonResponse(Events(layout: name, events: events.map(LayoutEventView.init)))
    }

    // MARK: Changing

    @Sendable private func put(_ request: Request, _ context: OrchestratorContext) async throws -> Response {
        let receivedAt = MonotonicClock.now()
        let name = try Self.fileName(context)
        let precondition = try LayoutPrecondition(request.headers)
        let content = try await request.bytes(upTo: LayoutFiles.longestFile)
        let template = try LayoutTemplate.decode(content, name: name)
        let change = try await directory.put(
            LayoutDirectory.NewLayout(
                name: name, template: template, content: content, origin: .api, precondition: precondition,
                receivedAt: receivedAt))
        return try await response(name, change, context)
    }

    @Sendable private func rollBack(_ request: Request, _ context: OrchestratorContext) async throws -> Response {
        let name = try Self.fileName(context)
        var reader = try FieldReader(try await request.json())
        let expected = 1...Int(Int32.max)
        guard let version = try reader.integer("version", in: expected) else {
            throw InputError(
                .missingField, field: "version",
                expected: "a version of the layout, as GET /v1/layouts/\(name)/versions lists them")
        }
        try reader.finish()
        let change = try await directory.rollBack(name, to: version, try LayoutPrecondition(request.headers))
        return try await response(name, change, context)
    }

    @Sendable private func delete(_ request: Request, _ context: OrchestratorContext) async throws -> Response {
        let name = try Self.fileName(context)
        try await directory.delete(name, try LayoutPrecondition(request.headers), for: context.caller.app)
        return Response(status: .noContent)
    }

    private func response(
        _ name: String, _ change: LayoutDirectory.Change, _ context: OrchestratorContext
    ) async throws -> Response {
        let view = LayoutView(
            name, LayoutCatalogue.Entry(good: change.good),
            rooms: try await rooms(using: name, context))
        return Self.response(view, template: change.good.content, status: change.isNew ? .created : .ok)
    }

    // MARK: Parts

    /// Returns the caller's rooms that use the layout, in order of their names. At most one more than are shown.
    private func rooms(using layout: String, _ context: OrchestratorContext) async throws(StoreError) -> [RoomID] {
        try await registry.layoutUse(of: [layout], by: context.caller.app, limit: LayoutView.mostRooms + 1)[layout]
            ?? []
    }

    /// Answers with a view and the template as written.
    ///
    /// The template's bytes are JSON and are inserted unchanged, except for a byte order mark, which is valid only in
    /// files.
    private static func response(
        _ view: some Encodable, template: [UInt8]?, status: HTTPResponse.Status = .ok
    ) -> Response {
        var response = jsonResponse(view, status: status)
        if let version = (view as? LayoutView)?.version { response.headers[.eTag] = "\"\(version)\"" }
        guard let template else { return response }
        var body = jsonBytes(view)
        body.moveWriterIndex(to: body.writerIndex - 1)
        body.writeString(",\"template\":")
        body.writeBytes(template.starts(with: [0xEF, 0xBB, 0xBF]) ? template.dropFirst(3) : template[...])
        body.writeString("}")
        response.body = ResponseBody(byteBuffer: body)
        return response
    }

    /// Returns the name in the path if it is valid for a layout file.
    static func fileName(_ context: OrchestratorContext) throws -> String {
        let name = try context.parameters.require("name")
        guard name != LayoutLibrary.automaticName else {
            throw OrchestratorError(
                .conflict, "layout-built-in", "The layout is built in",
                detail:
                    "\(name) can be read, used and planned, but has no versions; to change it, copy it to another name"
            )
        }
        guard LayoutFiles.isName(name) else {
            throw InputError(
                .invalidField, field: "name", found: "\"\(name)\"", expected: LayoutFiles.nameRule)
        }
        return name
    }

    /// Returns the layout that the path names, including the built-in `auto`.
    private func known(_ context: OrchestratorContext) throws -> (String, LayoutCatalogue.Entry?) {
        let name = try context.parameters.require("name")
        let entry = layouts.entry(name)
        guard entry != nil || name == LayoutLibrary.automaticName else { throw OrchestratorError.layoutNotFound(name) }
        return (name, entry)
    }
}
