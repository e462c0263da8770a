/** The part of net-snmp that the endpoints use; the package has no types of its own. */
declare module 'net-snmp' {
  export interface MibRequest {
    operation: number;
    instanceNode: { oid: string; value: unknown };
    setValue?: unknown;
    /** A set comes twice: first to be tested, then to be done. */
    commitSet?: boolean;
    done(error?: { errorStatus: number; type?: number; value?: unknown }): void;
  }
  interface Column {
    number: number;
    name: string;
    type: number;
    maxAccess: number;
  }
  export type Provider =
    | { name: string; type: number; oid: string; scalarType: number; maxAccess: number }
    | {
        name: string;
        type: number;
        oid: string;
        maxAccess: number;
        tableColumns: Column[];
        tableIndex: { columnName: string }[];
        handler: (request: MibRequest) => void;
      };
  export interface Agent {
    registerProvider(provider: Provider): void;
    getMib(): {
      setScalarValue(name: string, value: unknown): void;
      addTableRow(name: string, row: unknown[]): void;
    };
    getAuthorizer(): { addCommunity(name: string): void };
    close(done?: () => void): void;
  }
  const snmp: {
    createAgent(
      options: { port: number; address: string; disableAuthorization: boolean },
      callback: (error: unknown) => void,
    ): Agent;
    MibProviderType: { Scalar: number; Table: number };
    ObjectType: { Integer: number; OctetString: number; OID: number };
    MaxAccess: Record<'not-accessible' | 'read-only' | 'read-write', number>;
    PduType: { SetRequest: number };
    ErrorStatus: { GeneralError: number; NoError: number };
  };
  export default snmp;
}
