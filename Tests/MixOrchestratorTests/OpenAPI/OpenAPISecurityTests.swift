import HTTPTypes
import Testing

@testable import HTTPInterface

/// The document and `RouteAccess.table` agree on the scopes.
@Suite struct OpenAPISecurityTests {
    @Test func theScopeOfEachRouteIsDocumented() throws {
        let document = try OpenAPIDocument()
        let paths = try #require(document.content["paths"] as? [String: [String: Any]])
        var count = 0
        for operation in document.operations {
            guard let method = HTTPRequest.Method(operation.method),
                case .scope(let scope)? = RouteAccess.of(method, operation.path)
            else { continue }
            count += 1
            let item = paths[operation.path]?[operation.method.lowercased()] as? [String: Any]
            let security = item?["security"] as? [[String: Any]] ?? []
            let scopes = security.compactMap { $0["bearer"] as? [String] }
            #expect(scopes.contains([scope.rawValue]), "\(operation.testDescription)")
        }
        #expect(count >= 50)
    }
}
