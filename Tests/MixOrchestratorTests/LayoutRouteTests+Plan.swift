import Foundation
import HTTPTypes
import LayoutEngine
import TaskStore
import Testing

@testable import MixOrchestrator

/// `/v1/layouts/{name}/plan`: the plan that a layout or draft would give, and the errors of a draft.
extension LayoutRouteTests {
    @Test func aPlanShowsASceneAndStaysOffAir() async throws {
        try await withDirectory { directory in
            try await withOrchestrator(directory: directory, store: MemoryTaskStore()) { bench in
                #expect(try await bench.call(.put, "/v1/layouts/mine", Self.layout("grid")).status == 201)
                let uri = "/v1/layouts/mine/plan?participants=5&canvas=1280x720@30"
                let answer = try await bench.call(.post, uri)
                #expect(answer.status == 200, "\(answer.text)")
                #expect(try answer.value("scene.canvas.width") == "1280")
                #expect(try answer.value("scene.canvas.fps") == "30")
                #expect(try answer.value("scene.panes.4.user") == "user5")
                #expect(try answer.value("participants.0.role") == "host")
                #expect(try answer.value("svg")?.hasPrefix("<svg ") == true)
                let picture = try await bench.call(.post, uri, headers: [.accept: "image/svg+xml, */*"])
                #expect(picture.headers[.contentType] == "image/svg+xml")
                #expect(picture.text == (try answer.value("svg")))
                #expect(try await bench.call(.post, "/v1/layouts/auto/plan?participants=0").status == 200)
                // A draft with its own participants, of a layout that does not exist.
                let draft = """
                    {"participants": [
                        {"user": "a", "name": "Ä", "role": "host", "pictureSize": {"width": 640, "height": 360}},
                        {"user": "a", "stream": "screen"}, {"user": "b", "stream": "audio"}],
                     "template": \(Self.layout("solo"))}
                    """
                let drawn = try await bench.call(.post, "/v1/layouts/draft/plan", draft)
                #expect(drawn.status == 200, "\(drawn.text)")
                #expect(try drawn.value("scene.panes.0.source") == "a/camera")
                #expect(try drawn.value("scene.panes.1") == nil)
                #expect(try await bench.call(.get, "/v1/layouts/draft").status == 404)
                #expect(bench.relays.started.isEmpty)
            }
        }
    }

    struct BadPlan: Sendable, CustomTestStringConvertible {
        var uri: String
        var body: String?
        var status = 422
        var code: String
        var field: String?
        var testDescription: String { "\(uri) \(body?.prefix(60) ?? "")" }
    }

    @Test(arguments: [
        BadPlan(uri: "auto/plan", code: "missing-field", field: "participants"),
        BadPlan(uri: "auto/plan?participants=17", code: "invalid-field", field: "participants"),
        BadPlan(uri: "auto/plan?participants=2&canvas=721x1280", code: "invalid-field", field: "canvas"),
        BadPlan(uri: "auto/plan?participants=2&canvas=720x1280@61", code: "invalid-field", field: "canvas"),
        BadPlan(uri: "auto/plan?participants=2&canvas=@", code: "invalid-field", field: "canvas"),
        BadPlan(uri: "nothing/plan?participants=2", status: 404, code: "layout-not-found"),
        BadPlan(uri: "a.b/plan?participants=2", code: "invalid-field", field: "name"),
        BadPlan(uri: "auto/plan", body: "{", status: 400, code: "malformed-json"),
        BadPlan(uri: "auto/plan", body: #"{"tempalte":{}}"#, code: "unknown-field", field: "tempalte"),
        BadPlan(
            uri: "auto/plan", body: #"{"participants":[{"user":"a"},{"user":"a"}]}"#, code: "invalid-field",
            field: "participants[1]"),
        BadPlan(
            uri: "auto/plan", body: #"{"participants":[{"user":"a","pictureSize":{"width":1}}]}"#,
            code: "missing-field", field: "participants[0].pictureSize"),
        BadPlan(uri: "auto/plan", body: #"{"participants":[{"name":"a"}]}"#, code: "missing-field"),
        BadPlan(
            uri: "auto/plan", body: String(repeating: " ", count: 300_000), status: 413, code: "body-too-large"),
    ])
    func wrongPlansAreProblems(_ bad: BadPlan) async throws {
        try await withDirectory { directory in
            try await withOrchestrator(directory: directory, store: MemoryTaskStore()) { bench in
                let answer = try await bench.call(.post, "/v1/layouts/" + bad.uri, bad.body)
                #expect(answer.status == bad.status, "\(answer.text)")
                #expect(try answer.value("type") == "urn:mixorchestrator:problem:\(bad.code)", "\(answer.text)")
                if let field = bad.field { #expect(try answer.value("field") == field) }
            }
        }
    }

    /// Lines and columns refer to the request, so that an editor can show them.
    @Test func errorsOfADraftAreToldWithTheLinesOfTheRequest() async throws {
        try await withDirectory { directory in
            try await withOrchestrator(directory: directory, store: MemoryTaskStore()) { bench in
                let body = """
                    {"participants": [{"user": "a\\"template\\":"}],
                     "template": {
                        "arrangements": [{"algorithm": "gird"}],
                        "gap": 7
                     }}
                    """
                let answer = try await bench.call(.post, "/v1/layouts/draft/plan", body)
                #expect(answer.status == 422)
                #expect(try answer.value("type") == "urn:mixorchestrator:problem:layout-invalid", "\(answer.text)")
                #expect(try answer.value("issues.0.line") == "3")
                #expect(try answer.value("issues.0.column") == "36")
                #expect(try answer.value("issues.0.suggestion") == "\"grid\"")
                #expect(try answer.value("issues.1.line") == "4")
            }
        }
    }
}
