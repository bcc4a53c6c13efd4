import EventSubscription
import HTTPTypes
import Hummingbird
import LayoutEngine
import RoomService
import TextFormats

/// `POST /v1/layouts/{name}/plan`: the scene that results from a layout, or from a draft of one. Nothing goes on air.
package struct LayoutPlanController: Sendable {
    let layouts: Layouts
    let defaultCanvas: Canvas

    package init(layouts: Layouts, defaultCanvas: Canvas) {
        self.layouts = layouts
        self.defaultCanvas = defaultCanvas
    }

    package func addRoutes(to router: some RouterMethods<OrchestratorContext>) {
        router.post("v1/layouts/{name}/plan", use: plan)
    }

    private struct Plan: Encodable {
        var layout: String
        var participants: [LayoutParticipant]
        var scene: Scene
        var svg: String
    }

    @Sendable private func plan(_ request: Request, _ context: OrchestratorContext) async throws -> Response {
        let name = try context.parameters.require("name")
        guard LayoutFiles.isName(name) else {
            throw InputError(.invalidField, field: "name", found: "\"\(name)\"", expected: LayoutFiles.nameRule)
        }
        let body = try await request.bytes(upTo: LayoutFiles.longestFile)
        var draft: LayoutTemplate?
        var people: [LayoutParticipant]?
        var params: JSONNode?
        var values = LayoutValues()
        if !body.isEmpty {
            var reader = try FieldReader(try JSONValue(parsing: body))
            // Errors of the template and of values have the lines and columns of the body.
            let document = try? JSONNode(parsing: body, limits: .requests)
            if reader.value("template") != nil, let template = document?[key: "template"] {
                draft = try LayoutTemplate.decode(template.isolated(in: body), name: name)
            }
            if reader.value("params") != nil { params = document?[key: "params"] }
            values = try reader.object("values").map { fields throws(InputError) in try Self.values(fields) } ?? values
            people = try reader.array("participants").map { elements throws(InputError) in
                try PlanParticipants.read(elements)
            }
            try reader.finish()
        }
        guard var template = draft ?? known(name) else { throw OrchestratorError.layoutNotFound(name) }
        if let params { template = template.applying(try template.merging(params, at: "$.params", into: [:])) }
        let count = try request.queryInteger("participants", in: 0...SamplePeople.most)
        guard let participants = people ?? count.map({ SamplePeople(count: $0).participants }) else {
            throw InputError(
                .missingField, field: "participants",
                expected: "the number of participants, 0…\(SamplePeople.most); or a list of them in the body")
        }
        let scene = LayoutEngine.plan(template, participants: participants, canvas: try canvas(request), values: values)
        if request.headers[values: .accept].contains(where: { $0.contains("image/svg+xml") }) {
            return Response(
                status: .ok, headers: [.contentType: "image/svg+xml"],
                body: ResponseBody(byteBuffer: ByteBuffer(string: scene.svg())))
        }
        return jsonResponse(Plan(layout: name, participants: participants, scene: scene, svg: scene.svg()))
    }

    /// Reads the values that texts show instead of a channel's numbers and comment.
    private static func values(_ fields: FieldReader) throws(InputError) -> LayoutValues {
        var reader = fields
        let counts = 0...1_000_000_000
        let values = LayoutValues(
            viewers: try reader.integer("viewers", in: counts), likes: try reader.integer("likes", in: counts),
            comment: try EventParser.freeText("comment", &reader))
        try reader.finish()
        return values
    }

    private func known(_ name: String) -> LayoutTemplate? {
        name == LayoutLibrary.automaticName || layouts.entry(name)?.good != nil ? layouts.writtenTemplate(name) : nil
    }

    private func canvas(_ request: Request) throws(InputError) -> Canvas {
        guard let text = try request.queryText("canvas") else { return defaultCanvas }
        guard var canvas = Canvas(text, fps: defaultCanvas.fps) else {
            throw InputError(
                .invalidField, field: "canvas", found: JSONValue.string(text).summary, expected: Canvas.textRule
            )
        }
        canvas.background = defaultCanvas.background
        return canvas
    }
}

/// Reads the participants in the body of a plan: one entry for each stream, as in a room.
enum PlanParticipants {
    /// Maximum number of streams in a plan. More are refused as a mistake.
    static let most = 64

    static func read(_ elements: [(JSONValue, path: String)]) throws(InputError) -> [LayoutParticipant] {
        guard elements.count <= most else {
            throw InputError(.invalidField, field: "participants", expected: "at most \(most) streams")
        }
        var people: [LayoutParticipant] = []
        for (index, (element, path)) in elements.enumerated() {
            let person = try read(element, path, index)
            guard !people.contains(where: { $0.source.hasSameUTF8(as: person.source) }) else {
                throw InputError(
                    .invalidField, field: path, found: "\"\(person.source)\"",
                    expected: "a stream that is not listed already")
            }
            people.append(person)
        }
        return people
    }

    private static func read(
        _ element: JSONValue, _ path: String, _ index: Int
    ) throws(InputError) -> LayoutParticipant {
        var reader = try FieldReader(element, path: path)
        let user = try EventParser.identifier(
            reader.requiredString("user", expected: "the participant's id"), field: reader.path(of: "user"))
        let kind = try reader.choice("stream", of: LayoutParticipant.Kind.self) ?? .camera
        let person = LayoutParticipant(
            source: "\(user)/\(kind.rawValue)", user: user, name: try EventParser.freeText("name", &reader),
            role: try reader.choice("role", of: LayoutParticipant.Role.self) ?? .guest, kind: kind,
            joinOrder: try reader.integer("joinOrder", in: 0...1_000_000) ?? index,
            hasVideo: try reader.boolean("video") ?? true && kind != .audio,
            hasAudio: try reader.boolean("audio") ?? true, pictureSize: try size(&reader))
        try reader.finish()
        return person
    }

    private static func size(_ reader: inout FieldReader) throws(InputError) -> LayoutParticipant.Size? {
        guard var size = try reader.object("pictureSize") else { return nil }
        let width = try size.integer("width", in: 1...16_384)
        let height = try size.integer("height", in: 1...16_384)
        try size.finish()
        guard let width, let height else {
            throw InputError(
                .missingField, field: reader.path(of: "pictureSize"), expected: "width and height in pixels")
        }
        return LayoutParticipant.Size(width: width, height: height)
    }
}
